// Runs many seeds in several processes, adds up what they reached, repeats and shrinks what failed.
#pragma once

namespace fanfare::sim {

int run_main(int argc, char** argv);

}  // namespace fanfare::sim
