"""Door to `skillopt.envs.searchqa.materialize`: writes `data/searchqa_split` from the published id manifests."""

from skillopt.envs.searchqa.materialize import main

raise SystemExit(main())
