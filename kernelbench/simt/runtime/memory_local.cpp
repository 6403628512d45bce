// ld and st of the local space.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, local, access_local)
SIMT_EACH_PAIR(SIMT_STORE, local, access_local)
