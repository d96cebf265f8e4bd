// `hearth-guest changes WORD=VALUE ...`: what differs between two stacks of overlay layers, as a stream of records. See protocol.md.
#ifndef HEARTH_CHANGES_CHANGES_H
#define HEARTH_CHANGES_CHANGES_H

int changes_main(int argc, char **argv);

#endif
