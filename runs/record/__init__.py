"""From kept events to rows: the fold, its sweeps and its rebuild."""
