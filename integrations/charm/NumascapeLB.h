// SPDX-License-Identifier: Apache-2.0
//
// A centralized strategy of Charm++ that maps chares with Numascape's balancers.
#ifndef NUMASCAPE_LB_H
#define NUMASCAPE_LB_H

#include "CentralLB.h"
#include "NumascapeLB.decl.h"

// The names by which Charm++'s registry finds a strategy.
void CreateNumascapeLB();
BaseLB* AllocateNumascapeLB();

class NumascapeLB : public CBase_NumascapeLB {
  public:
    explicit NumascapeLB(const CkLBOptions& options);
    explicit NumascapeLB(CkMigrateMessage* message);
    void work(LDStats* stats);
    void pup(PUP::er&) {}

  private:
    bool QueryBalanceNow(int) { return true; }
};

#endif
