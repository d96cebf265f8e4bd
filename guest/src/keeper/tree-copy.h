// Copies of layers: what an overlay's upper directory holds, with the marks by which it hides and removes.
#ifndef HEARTH_KEEPER_TREE_COPY_H
#define HEARTH_KEEPER_TREE_COPY_H
#include "failure.h"
#include <stdint.h>

// Lays the content of one directory over that of another, as an overlay would show it but keeping whiteouts and opaque marks. Hard links
// among the copied stay links; devices other than whiteouts are left out. Ids as in tree_id.
bool tree_copy(int source, int target, uint32_t base, struct failure *failure);

#endif
