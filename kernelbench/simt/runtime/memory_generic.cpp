// ld and st of the generic space.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, generic, access_generic)
SIMT_EACH_PAIR(SIMT_STORE, generic, access_generic)
