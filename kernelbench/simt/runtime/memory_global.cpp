// ld and st of the global space, ld of the constant space.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, global, access_global)
SIMT_EACH_PAIR(SIMT_STORE, global, access_global)

// Constant memory lies in the same flat space.
SIMT_EACH_PAIR(SIMT_LOAD, const, access_global)
