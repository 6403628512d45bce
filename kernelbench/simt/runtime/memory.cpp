// ld and st of every space. In one file, because a pair of types is compiled once for all spaces.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, global, access_global)
SIMT_EACH_PAIR(SIMT_STORE, global, access_global)

SIMT_EACH_PAIR(SIMT_LOAD, shared, access_shared)
SIMT_EACH_PAIR(SIMT_STORE, shared, access_shared)

SIMT_EACH_PAIR(SIMT_LOAD, local, access_local)
SIMT_EACH_PAIR(SIMT_STORE, local, access_local)

SIMT_EACH_PAIR(SIMT_LOAD, generic, access_generic)
SIMT_EACH_PAIR(SIMT_STORE, generic, access_generic)

// Constant memory lies in the same flat space as global memory.
SIMT_EACH_PAIR(SIMT_LOAD, const, access_global)
// The parameters of the kernel.
SIMT_EACH_PAIR(SIMT_LOAD, param, access_parameters)
// Arguments of device functions.
SIMT_EACH_PAIR(SIMT_LOAD, argument, access_argument)
SIMT_EACH_PAIR(SIMT_STORE, argument, access_argument)
