"""Door to `skillopt.envs.data.demo_phones`: makes the demo's items in `data/demo`."""

from skillopt.envs.data.demo_phones import main

raise SystemExit(main())
