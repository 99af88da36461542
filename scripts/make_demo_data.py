"""Door to `skillopt.envs.demo_phones`: makes the demo's items in `data/demo`."""

from skillopt.envs.demo_phones import main

raise SystemExit(main())
