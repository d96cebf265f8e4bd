// `hearth-guest store OPERATION ...`: one operation on the store's file system.
#ifndef HEARTH_KEEPER_STORE_H
#define HEARTH_KEEPER_STORE_H

int store_main(int argc, char **argv);

#endif
