"""What a policy has done so far, as a fold over its log in bounded memory.

`totals` counts what was shown and what came back, and keeps a `history` of it; `drawn` keeps what would have become of
the accounts had the host's own draw been shown each time, and what fairness cost in clicks.
"""
