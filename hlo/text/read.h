// Module files of every form are read by hlo/file/read.h; this name of it is kept for what still includes it.
#pragma once

#include "hlo/file/read.h"
