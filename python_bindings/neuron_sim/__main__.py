"""`python -m neuron_sim` is the command `neuron-sim`."""

import sys

from neuron_sim.command_line import main

sys.exit(main())
