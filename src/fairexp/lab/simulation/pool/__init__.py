"""Many runs side by side, in processes of this machine.

`batch` hands runs to `workers`, each a process started by `processes` with the inside in `worker`; the data lie in
memory once (`shared_data`). `paces` learns how long rounds take.
"""
