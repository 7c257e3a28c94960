"""Items by id: `catalog` keeps their fields in the store and looks them up; `counters` counts what became of each."""
