// fanfare_sim.
#include "sim/runner.h"

int main(int argc, char** argv) { return fanfare::sim::run_main(argc, argv); }
