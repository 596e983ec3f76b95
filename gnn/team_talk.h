/* gnn/team_talk.h: what ranks that divide a graph together (partition/row_team.h) say to each other, over a
 * communicator. */
#ifndef WEFT_GNN_TEAM_TALK_H
#define WEFT_GNN_TEAM_TALK_H

#include "comm/comm.h"
#include "partition/row_team.h"

/* comm is lent, for as long as the team talks. */
row_team_talk gnn_team_talk(weft_comm *comm);

#endif
