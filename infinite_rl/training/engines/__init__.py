"""Where a run is computed: in this process, in threads, on a Ray cluster, by TRL."""
