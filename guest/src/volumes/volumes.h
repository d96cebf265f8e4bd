#ifndef HEARTH_VOLUMES_H
#define HEARTH_VOLUMES_H
// `hearth-guest volumes`: see "Volumes of a microVM" in protocol.md.
int volumes_main(int argc, char **argv);
#endif
