// ld and st of the shared space.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, shared, access_shared)
SIMT_EACH_PAIR(SIMT_STORE, shared, access_shared)
