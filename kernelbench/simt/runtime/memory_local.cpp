// ld and st of the local space, and of arguments of device functions.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, local, access_local)
SIMT_EACH_PAIR(SIMT_STORE, local, access_local)

SIMT_EACH_PAIR(SIMT_LOAD, argument, access_argument)
SIMT_EACH_PAIR(SIMT_STORE, argument, access_argument)
