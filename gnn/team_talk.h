/* gnn/team_talk.h: what ranks that divide a graph together (partition/row_team.h) say to each other, over a
 * communicator. */
#pragma once

#include "comm/comm.h"
#include "partition/row_team.h"

/* comm is lent, for as long as the team talks. */
row_team_talk gnn_team_talk(weft_comm *comm);
