#include "modc.h"
