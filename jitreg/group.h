/* SPDX-License-Identifier: MIT */
/* Images at fixed distances. See group.c. Internal to jitreg. */
#ifndef JITREG_GROUP_H
#define JITREG_GROUP_H

#include "listing.h"

/** Put an entry into its group. */
void jitreg_group_add(struct jitreg_entry *entry);

/** Whether an entry of a group can be in a pack. */
bool jitreg_group_can_pack(const struct jitreg_entry *entry);

/** Give an entry that is in no list yet a pack of its own. -ENOTSUP: it cannot be packed. */
int jitreg_group_create_single(struct jitreg_entry *entry);

/** Take an entry out of its group; if it was in a pack, the pack is made anew without it. */
void jitreg_group_remove(struct jitreg_entry *entry);

#endif
