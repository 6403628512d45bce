// ld of the param space: the parameters of the kernel.
#include "memory.hpp"

using namespace simt;

SIMT_EACH_PAIR(SIMT_LOAD, param, access_parameters)
