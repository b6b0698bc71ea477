"""What a transport gives away to observers of its circuits.

Two places are watched (`[record] traces` of a scenario): the wire between a client and its router,
and a malicious exit. `hopflow.observer.games` asks three questions about what is seen there:

- what is fetched: a page or a bulk file, and which of the recorded pages;
- whether a trace at the entry and a trace at the exit belong to the same circuit;
- whether somebody else shares the bottleneck of the circuit that is watched.

`hopflow.observer.play` has adversaries, learned and classical, answer them on networks that they
have not been trained on; `hopflow.observer.controls` has what must hold for it to mean something.
`docs/observer.md` tells the model, the scores and the results.
"""
