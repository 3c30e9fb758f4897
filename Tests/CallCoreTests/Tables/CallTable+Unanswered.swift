/// Calls that nobody has answered yet. See ``BehaviourTable`` for how to read it.
let callTableUnanswered = """
    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, selfCall, told, halfTold, ringing, declinedOnOne, backAfterRestart, callerLost, restarted,
        forwarding, forwarded
    S: invites hangups declines reports wrongPush ringing answer connected update get => forbidden
    S X: candidates => -
    X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    X: invites => forbidden(wake)
    http:alice http:aliceOnA1: reported => forbidden
    http:sam http:wakeXForAnother: get reported => forbidden
    all: found notFound searchFailed draining tightened => -
    all: doNotDisturb noCallWaiting => - | users
    all: groupChanged => - | groups

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, selfCall, told, halfTold, ringing, backAfterRestart, callerLost, restarted, forwarding, forwarded
    all: declinePolicy => - | users

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, selfCall, told, halfTold, ringing, declinedOnOne, backAfterRestart, forwarding, forwarded
    A1: declines reports wrongPush ringing answer => forbidden
    A1: inviteOther => conflict
    A1: open => bad_state
    A1: foreground background clearMissed => done
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1: ack ackOfNothing lost => -
    A1: list => calls(1)

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, selfCall, told, halfTold, ringing, declinedOnOne, callerLost, forwarding, forwarded
    A2: invites => conflict
    A2: open => bad_state
    A2: foreground clearMissed => done
    A2: wrongPush => forbidden
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2: ackOfNothing => -
    A2: list => calls(1)

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, selfCall,
        told, halfTold, ringing, declinedOnOne, backAfterRestart, callerLost, restarted, forwarding, forwarded
    all: groupGone => -

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, told, halfTold, ringing, declinedOnOne, callerLost, forwarding, forwarded
    A2: background => done
    A2: hangups declines reports ringing answer connected update => forbidden
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: ack candidates lost => -

    ## accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt, huntLast, told,
        halfTold, ringing, declinedOnOne, backAfterRestart, callerLost, restarted, forwarding, forwarded
    all: alias => -
    push:B1: ready accepted deadToken rejected unknown returned unsent => -

    ## list, listDeclined, hunt, huntLast, told, ringing, declinedOnOne, backAfterRestart, callerLost, forwarding,
        forwarded
    push:B2: returned ready accepted deadToken rejected unknown unsent => -
    B1: open => bad_state
    B1: invites wrongPush => forbidden
    B1: foreground clearMissed => done
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B1: ackOfNothing => -
    B1: list => calls(1)

    ## reported, list, listDeclined, hunt, huntLast, ringing, declinedOnOne, backAfterRestart, forwarding, forwarded
    A1: connected update => bad_state(ringing)
    A1: get => caller:ringing,expires
    A1: inviteAgain => invited(ringing)

    ## list, listDeclined, hunt, huntLast, told, ringing, declinedOnOne, callerLost, forwarding, forwarded
    B2: open => bad_state
    B2: invites wrongPush => forbidden
    B2: ackOfNothing => -
    B2: foreground noTokens clearMissed => done
    B2: newToken => done | device:B2 tokens 0>1
    B2: list => calls(1)

    ## queued, sent, unknown, rejected, wokenForAnother, reported, halfTold
    all: after2s => -
    A1: candidates => - | candidates kept

    ## queued, unknown, rejected, wokenForAnother, reported, halfTold, restarted
    all: restart => -

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother
    push:B2: ready => - | push:B2 intended>sent/awaited; wire:B2 waiting>onWire
    push:B2: accepted deadToken rejected unknown => - | wire:B2 waiting>-
    A1: connected update => bad_state(waking)
    A1 A2 http:alice http:aliceOnA1: get => caller:waking,expires
    A1: inviteAgain => invited(waking)
    http:bob http:wakeB2: get => callee:waking,sdp1,expires
    http:wakeB2: reported => ringing | S>ringing; B2 waking>ringing; push:B2 intended>cancelled; wire:B2 waiting>-;
        A1<state(ringing)

    ## list, hunt, huntLast, ringing, backAfterRestart, callerLost, forwarding
    http:alice http:aliceOnA1: get => caller:ringing,expires
    http:bob http:bobOnB1 http:wakeB1 http:wakeB2 B1: get => callee:ringing,sdp1,expires
    B1: background => done
    B1: ack => -
    B1: reports ringing => ringing
    B1: connected => bad_state(ringing)
    B1: logout => done | B1 ringing>ended(noDevices); device:B1 tokens 1>0; B1 closed loggedOut
    http:bob http:bobOnB1 http:wakeB1: reported => ringing
    B1: close => done | push:B1 ->intended; wire:B1 ->waiting; B1 closed normal
    B1: candidates => - | candidates kept
    B1: lost => - | B1 ringing>ringing*
    B1: busy => ended(busy) | B1 ringing>ended(busy); B1<ended(busy,B1,own)

    ## list, hunt, ringing, declinedOnOne, callerLost, forwarding
    A2: get => caller:ringing,expires
    B2: candidates => - | candidates kept
    B2: background => done | B2 offered*>offered
    B2: ack lost => - | B2 offered*>offered
    B2: update connected => bad_state(ringing)
    B2: get => callee:ringing,sdp1,expires
    B2: reported ringing => ringing | B2 offered*>ringing
    B2: notRequired filtered failed => ringing | B2 offered*>offered
    http:wakeB2: reported => ringing | B2 offered*>ringing
    B1: update => bad_state(ringing)

    ## list, hunt, told, ringing, callerLost, forwarding
    B2: close => done | B2 offered*>ended(noDevices); B2 closed normal
    B2: logout => done | B2 offered*>ended(noDevices); B2 closed loggedOut
    B2: busy => ended(busy) | B2 offered*>ended(busy); B2<ended(busy,B2,own)

    ## queued, sent, rejected, reported
    push:B2: returned => -
    all: after15s after20s after30s => -

    ## list, listDeclined, hunt, huntLast, forwarding, forwarded
    C1: open => bad_state
    C1: invites wrongPush => forbidden
    C1: ackOfNothing => -
    C1: foreground clearMissed => done
    C1: noTokens => done | device:C1 tokens 1>0
    C1: newToken => done | device:C1 tokens 1>1

    ## sent, unknown, wokenForAnother
    push:B2: unsent => - | B2 waking>ended(noDevices); push:B2 intended>cancelled; wire:B2 waiting>-
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 waking>ended(cancelled); B2 waking>ended(cancelled);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 waking>ended(I); B2 waking>ended(I); push:B2
        intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B1 waking>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1 closed normal
    A1: logout => done | S>ended(connectionLost); B1 waking>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed
        loggedOut

    ## accepted, woken, wokenForAnother
    push:B2: returned => -
    B1: open => bad_state
    B1: invites clearMissed noTokens newToken logout list => forbidden(wake)
    B1: wrongPush => forbidden
    B1: foreground => done
    B1: ackOfNothing => -

    ## wokenForAnother, listDeclined, declinedOnOne, forwarded
    B1: background => done
    B1: ack candidates lost => -
    B1: close => done | B1 closed normal

    ## list, listDeclined, huntLast, forwarded
    C1: update connected => bad_state(ringing)
    C1: get => callee:ringing,sdp1,expires
    C1: candidates => - | candidates kept
    C1: reported ringing => ringing | C1 offered*>ringing
    C1: notRequired filtered failed => ringing | C1 offered*>offered
    C1: background => done | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting
    C1: close => done | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting; C1 closed normal
    C1: ack => - | C1 offered*>offered
    C1: lost => - | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting
    push:C1: ready accepted deadToken rejected unknown returned unsent => -
    C1: list => calls(1)

    ## selfCall, told, halfTold
    A1: connected update => bad_state(routing)
    A1 http:alice http:aliceOnA1: get => caller:routing,expires
    A1: inviteAgain => invited(routing)

    ## accepted, woken
    http:bobOnB1 http:wakeB1 B1: get => callee:waking,sdp1,expires
    push:B2: unsent => - | B2 waking>ended(noDevices); push:B2 intended>cancelled; wire:B2 waiting>-
    all: after2s after15s after20s after30s restart => - | B1 offered*>offered
    B1: background => done | B1 offered*>offered
    B1: ack lost => - | B1 offered*>offered
    B1: update connected => bad_state(waking)
    B1: reported => ringing | S>ringing; B1 offered*>ringing; push:B1 accepted/acted>accepted/reported;
        A1<state(ringing)
    B1: notRequired => waking | B1 offered*>offered; push:B1 accepted/acted>accepted/notRequired
    B1: filtered => waking | B1 offered*>offered; push:B1 accepted/acted>accepted/filtered
    B1: failed => waking | B1 offered*>offered; push:B1 accepted/acted>accepted/reportFailed
    B1: ringing => ringing | S>ringing; B1 offered*>ringing; A1<state(ringing)
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 offered*>ringing; push:B1
        accepted/acted>accepted/reported; A1<state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered*>ended(cancelled); B2 waking>ended(cancelled);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own);
        B1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 offered*>ended(I); B2 waking>ended(I); push:B2
        intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(I,A1,own); B1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1 closed normal;
        B1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2
        waking>ended(connectionLost); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1;
        device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; B1<candidates(1)
    B1: answer => won | S>answered; B1 offered*>answered; B2 waking>ended(answeredElsewhere); push:B2
        intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 offered*>ended(declined); B2
        waking>ended(declinedElsewhere); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped;
        A1<ended(declined,B1); B1<ended(declined,B1,own)
    B1: close => done | B1 offered*>offered; B1 closed normal
    B1: candidates => - | candidates kept
    all: after45s after5min => - | S>ended(ringTimeout); B1 offered*>ended(ringTimeout); B2
        waking>ended(ringTimeout); push:B2 intended>expired; wire:B2 waiting>-; offer dropped; missed 0>1;
        A1<ended(ringTimeout); B1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2
        waking>ended(connectionLost); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1
    B1: busy => ended(busy) | B1 offered*>ended(busy); B1<ended(busy,B1,own)

    ## list, huntLast
    A1: candidates => - | candidates kept; B1<candidates(1); B2<candidates(1); C1<candidates(1)
    C1: hangups declined dnd => ended(declined) | C1 offered*>ended(declined); C1<ended(declined,C1,own)
    C1: busy => ended(busy) | C1 offered*>ended(busy); C1<ended(busy,C1,own)
    C1: logout => done | C1 offered*>ended(noDevices); device:C1 tokens 1>0; C1 closed loggedOut

    ## listDeclined, declinedOnOne
    http:bobOnB1 http:wakeB1 B1: get => callee:ended,declined
    B1: hangups declines reports ringing connected => ended(declined)
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut
    http:bob http:bobOnB1 http:wakeB1: reported => ended(declined)
    B1: answer => call_ended(declined)

    ## hunt, ringing, forwarding
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2 offered*>ended(cancelled);
        offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1); B2<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); B2 offered*>ended(I); offer dropped;
        missed 0>1; A1<ended(I,A1,own); B1<ended(I,A1); B2<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); offer dropped; missed 0>1; A1 closed normal; B1<ended(connectionLost,A1);
        B2<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed loggedOut;
        B1<ended(connectionLost,A1); B2<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; B1<candidates(1); B2<candidates(1)
    all: restart => - | B1 ringing>ringing*; B2 offered*>offered

    ## queued
    all: alias => -
    http:bobOnB1 http:wakeB1: get => callee:waking,sdp1,expires
    push:B2: unsent => - | B2 waking>ended(noDevices); push:B2 intended>cancelled; wire:B2 waiting>-
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 waking>ringing; push:B1 intended>cancelled;
        wire:B1 waiting>-; A1<state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 waking>ended(cancelled); B2 waking>ended(cancelled);
        push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer dropped;
        missed 0>1; A1<ended(cancelled,A1,own)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 waking>ended(I); B2 waking>ended(I); push:B1
        intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer dropped; missed
        0>1; A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B1 waking>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer dropped;
        missed 0>1; A1 closed normal
    A1: logout => done | S>ended(connectionLost); B1 waking>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer dropped;
        missed 0>1; device:A1 tokens 1>0; A1 closed loggedOut
    all: after45s after5min => - | S>ended(ringTimeout); B1 waking>ended(ringTimeout); B2 waking>ended(ringTimeout);
        push:B1 intended>expired; push:B2 intended>expired; wire:B1 waiting>-; wire:B2 waiting>-; offer dropped;
        missed 0>1; A1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 waking>ended(connectionLost); B2
        waking>ended(connectionLost); push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-;
        wire:B2 waiting>-; offer dropped; missed 0>1
    push:B1: ready => - | push:B1 intended>sent/awaited; wire:B1 waiting>onWire
    push:B1: accepted deadToken rejected unknown => - | wire:B1 waiting>-
    push:B1: returned => -
    push:B1: unsent => - | B1 waking>ended(noDevices); push:B1 intended>cancelled; wire:B1 waiting>-

    ## sent
    all: alias => -
    http:bobOnB1 http:wakeB1: get => callee:waking,sdp1,expires | push:B1 sent/awaited>sent/acted
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 waking>ringing; push:B1
        sent/awaited>sent/reported; A1<state(ringing)
    all: after45s after5min => - | S>ended(ringTimeout); B1 waking>ended(ringTimeout); B2 waking>ended(ringTimeout);
        push:B2 intended>expired; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(ringTimeout)
    all: restart => - | push:B1 sent/awaited>unknown/awaited; wire:B1 onWire>-
    all: restartAndAway => - | S>ended(connectionLost); B1 waking>ended(connectionLost); B2
        waking>ended(connectionLost); push:B1 sent/awaited>unknown/unreported; push:B2 intended>cancelled; wire:B1
        onWire>-; wire:B2 waiting>-; offer dropped; missed 0>1
    push:B1: ready => -
    push:B1: accepted => - | push:B1 sent/awaited>accepted/awaited; wire:B1 onWire>-
    push:B1: deadToken => - | B1 waking>ended(noDevices); push:B1 sent/awaited>rejected; wire:B1 onWire>-; device:B1
        tokens 1>0
    push:B1: rejected => - | B1 waking>ended(noDevices); push:B1 sent/awaited>rejected; wire:B1 onWire>-
    push:B1: unknown => - | push:B1 sent/awaited>unknown/awaited; wire:B1 onWire>-
    push:B1: returned => - | push:B1 sent/awaited>intended; wire:B1 onWire>waiting
    push:B1: unsent => - | B1 waking>ended(noDevices); push:B1 sent/awaited>cancelled; wire:B1 onWire>-

    ## unknown
    push:B2: returned => -
    http:bobOnB1: get => callee:waking,sdp1,expires | push:B1 unknown/awaited>unknown/acted
    http:wakeB1: get => callee:waking,sdp1,expires | push:B1 unknown/awaited>accepted/acted
    all: after15s after20s after30s => - | push:B1 unknown/awaited>unknown/unreported
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 waking>ringing; push:B1
        unknown/awaited>accepted/reported; A1<state(ringing)
    all: after45s after5min => - | S>ended(ringTimeout); B1 waking>ended(ringTimeout); B2 waking>ended(ringTimeout);
        push:B1 unknown/awaited>unknown/unreported; push:B2 intended>expired; wire:B2 waiting>-; offer dropped;
        missed 0>1; A1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 waking>ended(connectionLost); B2
        waking>ended(connectionLost); push:B1 unknown/awaited>unknown/unreported; push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>1

    ## rejected
    http:bobOnB1 http:wakeB1: get => callee:ended,noDevices
    push:B2: unsent => - | S>ended(noDevices); B2 waking>ended(noDevices); push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; missed 0>1; A1<ended(noDevices)
    http:bob http:bobOnB1 http:wakeB1: reported => ended(noDevices)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B2 waking>ended(cancelled); push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B2 waking>ended(I); push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; missed 0>1; A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B2 waking>ended(connectionLost); push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>1; A1 closed normal
    A1: logout => done | S>ended(connectionLost); B2 waking>ended(connectionLost); push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed loggedOut
    all: after45s after5min => - | S>ended(ringTimeout); B2 waking>ended(ringTimeout); push:B2 intended>expired;
        wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B2 waking>ended(connectionLost); push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>1

    ## wokenForAnother
    http:bobOnB1 http:wakeB1: get => callee:waking,sdp1,expires | push:B1 accepted/awaited>accepted/acted
    all: after15s after20s after30s => - | push:B1 accepted/awaited>accepted/unreported; device:B1 tokens 1>1 streak
        1
    B1: hangups declines reports update ringing connected get answer => forbidden
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 waking>ringing; push:B1
        accepted/awaited>accepted/reported; A1<state(ringing)
    all: after45s after5min => - | S>ended(ringTimeout); B1 waking>ended(ringTimeout); B2 waking>ended(ringTimeout);
        push:B1 accepted/awaited>accepted/unreported; push:B2 intended>expired; wire:B2 waiting>-; offer dropped;
        missed 0>2; device:B1 tokens 1>1 streak 1; another call; A1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 waking>ended(connectionLost); B2
        waking>ended(connectionLost); push:B1 accepted/awaited>accepted/unreported; push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; missed 0>2; device:B1 tokens 1>1 streak 1; another call

    ## reported
    push:B2: ready => - | push:B2 intended>sent/awaited; wire:B2 waiting>onWire
    push:B2: accepted deadToken rejected unknown => - | wire:B2 waiting>-
    A2 http:alice http:aliceOnA1: get => caller:ringing,expires
    http:bob http:bobOnB1 http:wakeB1 http:wakeB2: get => callee:ringing,sdp1,expires
    push:B2: unsent => - | B2 waking>ended(noDevices); push:B2 intended>cancelled; wire:B2 waiting>-
    http:wakeB2: reported => ringing | B2 waking>ringing; push:B2 intended>cancelled; wire:B2 waiting>-
    http:bob http:bobOnB1 http:wakeB1: reported => ringing
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2 waking>ended(cancelled);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); B2 waking>ended(I); push:B2
        intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1 closed normal
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2 waking>ended(connectionLost);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed
        loggedOut
    all: after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2
        waking>ended(ringTimeout); push:B2 intended>expired; wire:B2 waiting>-; offer dropped; missed 0>1;
        A1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        waking>ended(connectionLost); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1

    ## list
    all: after2s after15s after20s after30s => - | B2 offered*>offered; C1 offered*>waking; push:C1 ->intended;
        wire:C1 ->waiting
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2 offered*>ended(cancelled);
        C1 offered*>ended(cancelled); offer dropped; missed 0>2; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1);
        B2<ended(cancelled,A1); C1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); B2 offered*>ended(I); C1
        offered*>ended(I); offer dropped; missed 0>2; A1<ended(I,A1,own); B1<ended(I,A1); B2<ended(I,A1);
        C1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>2; A1 closed
        normal; B1<ended(connectionLost,A1); B2<ended(connectionLost,A1); C1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>2; device:A1
        tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1); B2<ended(connectionLost,A1);
        C1<ended(connectionLost,A1)
    B1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere); C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B2<ended(answeredElsewhere,B1);
        C1<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | B1 ringing>ended(declined); B2 offered*>ended(declinedElsewhere);
        B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    B2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<ended(answeredElsewhere,B2);
        C1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | B1 ringing>ended(declinedElsewhere); B2 offered*>ended(declined);
        B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)
    all: after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2
        offered*>ended(ringTimeout); C1 offered*>ended(ringTimeout); push:C1 ->expired; offer dropped; missed 0>2;
        A1<ended(ringTimeout); B1<ended(ringTimeout); B2<ended(ringTimeout); C1<ended(ringTimeout)
    all: restart => - | B1 ringing>ringing*; B2 offered*>offered
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); C1 offered*>ended(connectionLost); push:B1 ->cancelled; push:C1 ->cancelled;
        offer dropped; missed 0>2
    C1: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>ended(answeredElsewhere); C1
        offered*>answered; offer kept; A1<state(answered); B1<ended(answeredElsewhere,C1);
        B2<ended(answeredElsewhere,C1)

    ## listDeclined
    A2 http:alice http:aliceOnA1: get => caller:ringing,expires
    http:bob: get => callee:ended,declined
    B2: candidates ack lost => -
    B2: background => done
    B2 B1: update => bad_state(ringing)
    B2: hangups declines reports connected ringing => ended(declinedElsewhere)
    B2 http:wakeB2: get => callee:ended,declinedElsewhere
    http:wakeB2: reported => ended(declinedElsewhere)
    all: after2s after15s after20s after30s => - | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting
    all: restart => -
    A1: hangup => ended(cancelled) | S>ended(cancelled); C1 offered*>ended(cancelled); offer dropped; missed 0>1;
        A1<ended(cancelled,A1,own); C1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); C1 offered*>ended(I); offer dropped; missed 0>1;
        A1<ended(I,A1,own); C1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>1; A1
        closed normal; C1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>1;
        device:A1 tokens 1>0; A1 closed loggedOut; C1<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; C1<candidates(1)
    B2: answer => call_ended(declinedElsewhere)
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    all: after45s after5min => - | S>ended(ringTimeout); C1 offered*>ended(ringTimeout); push:C1 ->expired; offer
        dropped; missed 0>1; A1<ended(ringTimeout); C1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); C1 offered*>ended(connectionLost); push:C1 ->cancelled;
        offer dropped; missed 0>1
    C1: hangups declined dnd => ended(declined) | S>ended(declined); C1 offered*>ended(declined); offer dropped;
        A1<ended(declined,C1); C1<ended(declined,C1,own)
    C1: busy => ended(busy) | S>ended(busy); C1 offered*>ended(busy); offer dropped; missed 0>1; A1<ended(busy,C1);
        C1<ended(busy,C1,own)
    C1: logout => done | S>ended(declined); C1 offered*>ended(noDevices); offer dropped; missed 0>1; device:C1
        tokens 1>0; A1<ended(declined,B1); C1 closed loggedOut
    C1: answer => won | S>answered; C1 offered*>answered; offer kept; A1<state(answered)

    ## hunt
    all: groupGone => - | groups
    all: after2s => - | B2 offered*>offered
    all: after15s => - | S>ringing/2; B2 offered*>offered; C1 ->offered*; C1<incoming
    all: after20s after30s => - | S>ringing/2; B2 offered*>offered; C1 ->waking; push:C1 ->intended; wire:C1
        ->waiting; C1<incoming
    B1: answer => won | S>answered/1; B1 ringing>answered; B2 offered*>ended(answeredElsewhere); offer kept;
        A1<state(answered); B2<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | S>ringing/2; B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); C1 ->offered*; B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1);
        C1<incoming
    B2: answer => won | S>answered/1; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | S>ringing/2; B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); C1 ->offered*; B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own);
        C1<incoming
    all: after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2
        offered*>ended(ringTimeout); C1 ->ended(ringTimeout); push:C1 ->expired; offer dropped; missed 0>2;
        A1<ended(ringTimeout); B1<ended(ringTimeout); B2<ended(ringTimeout); C1<incoming; C1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); C1 ->ended(connectionLost); push:B1 ->cancelled; push:C1 ->cancelled; offer
        dropped; missed 0>2
    C1: hangups declines reports update connected ringing answer => forbidden
    C1: get => callee:ringing,expires
    C1: candidates ack lost => -
    C1: background => done
    C1: close => done | C1 closed normal
    C1: logout => done | device:C1 tokens 1>0; C1 closed loggedOut
    C1: list => calls(0)

    ## huntLast
    all: groupGone => - | groups
    A2: get => caller:ringing,expires
    B2: candidates => - | candidates kept
    B2: background => done
    B2: ack lost => -
    B2: update connected => bad_state(ringing)
    B2: get => callee:ringing,sdp1,expires
    B2: reported ringing => ringing | B2 offered>ringing
    B2: notRequired filtered failed => ringing
    http:wakeB2: reported => ringing | B2 offered>ringing
    all: after2s after15s after20s => - | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting
    B1: update => bad_state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2 offered>ended(cancelled);
        C1 offered*>ended(cancelled); offer dropped; missed 0>2; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1);
        B2<ended(cancelled,A1); C1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); B2 offered>ended(I); C1
        offered*>ended(I); offer dropped; missed 0>2; A1<ended(I,A1,own); B1<ended(I,A1); B2<ended(I,A1);
        C1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2 offered>ended(connectionLost);
        C1 offered*>ended(connectionLost); offer dropped; missed 0>2; A1 closed normal; B1<ended(connectionLost,A1);
        B2<ended(connectionLost,A1); C1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>2; device:A1
        tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1); B2<ended(connectionLost,A1);
        C1<ended(connectionLost,A1)
    B1: answer => won | S>answered/2; B1 ringing>answered; B2 offered>ended(answeredElsewhere); C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B2<ended(answeredElsewhere,B1);
        C1<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | B1 ringing>ended(declined); B2 offered>ended(declinedElsewhere);
        B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    B2: answer => won | S>answered/2; B1 ringing>ended(answeredElsewhere); B2 offered>answered; C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<ended(answeredElsewhere,B2);
        C1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | B1 ringing>ended(declinedElsewhere); B2 offered>ended(declined);
        B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)
    B2: close => done | B2 offered>ended(noDevices); B2 closed normal
    B2: logout => done | B2 offered>ended(noDevices); B2 closed loggedOut
    all: after30s after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2
        offered>ended(ringTimeout); C1 offered*>ended(ringTimeout); push:C1 ->expired; offer dropped; missed 0>2;
        A1<ended(ringTimeout); B1<ended(ringTimeout); B2<ended(ringTimeout); C1<ended(ringTimeout)
    all: restart => - | B1 ringing>ringing*
    all: restartAndAway => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2 offered>ended(ringTimeout);
        C1 offered*>ended(ringTimeout); push:B1 ->expired; push:C1 ->expired; offer dropped; missed 0>2
    B2: busy => ended(busy) | B2 offered>ended(busy); B2<ended(busy,B2,own)
    C1: answer => won | S>answered/2; B1 ringing>ended(answeredElsewhere); B2 offered>ended(answeredElsewhere); C1
        offered*>answered; offer kept; A1<state(answered); B1<ended(answeredElsewhere,C1);
        B2<ended(answeredElsewhere,C1)

    ## selfCall
    A2: background => done | S>waking; A2 offered*>waking; push:A2 ->intended; wire:A2 ->waiting; A1<state(waking)
    A2: hangups declined dnd => ended(declined) | S>ended(declined); A2 offered*>ended(declined); offer dropped;
        A1<ended(declined,A2); A2<ended(declined,A2,own)
    A2: busy => ended(busy) | S>ended(busy); A2 offered*>ended(busy); offer dropped; A1<ended(busy,A2);
        A2<ended(busy,A2,own)
    A2: reported ringing => ringing | S>ringing; A2 offered*>ringing; A1<state(ringing)
    A2: notRequired filtered failed => routing | A2 offered*>offered
    A2: answer => won | S>answered; A2 offered*>answered; offer kept; A1<state(answered)
    A2: connected update => bad_state(routing)
    A2: close => done | S>waking; A2 offered*>waking; push:A2 ->intended; wire:A2 ->waiting; A1<state(waking); A2
        closed normal
    A2: logout => done | S>ended(noDevices); A2 offered*>ended(noDevices); offer dropped; device:A2 tokens 1>0;
        A1<ended(noDevices); A2 closed loggedOut
    A2: ack => - | A2 offered*>offered
    A2: candidates => - | candidates kept
    A2: lost => - | S>waking; A2 offered*>waking; push:A2 ->intended; wire:A2 ->waiting; A1<state(waking)
    all: alias => - | aliases
    A2: get => callee:routing,sdp1,expires
    http:bob http:bobOnB1 http:wakeB1: get reported => forbidden
    http:wakeB2: reported get => forbidden
    all: after2s after15s after20s after30s => - | S>waking; A2 offered*>waking; push:A2 ->intended; wire:A2
        ->waiting; A1<state(waking)
    A1: hangup => ended(cancelled) | S>ended(cancelled); A2 offered*>ended(cancelled); offer dropped;
        A1<ended(cancelled,A1,own); A2<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); A2 offered*>ended(I); offer dropped; A1<ended(I,A1,own);
        A2<ended(I,A1)
    A1: close => done | S>ended(connectionLost); A2 offered*>ended(connectionLost); offer dropped; A1 closed normal;
        A2<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); A2 offered*>ended(connectionLost); offer dropped; device:A1 tokens
        1>0; A1 closed loggedOut; A2<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; A2<candidates(1)
    all: after45s after5min => - | S>ended(ringTimeout); A2 offered*>ended(ringTimeout); push:A2 ->expired; offer
        dropped; A1<state(waking); A1<ended(ringTimeout); A2<ended(ringTimeout)
    all: restart => -
    all: restartAndAway => - | S>ended(connectionLost); A2 offered*>ended(connectionLost); push:A2 ->cancelled;
        offer dropped
    push:A2: ready accepted deadToken rejected unknown returned unsent => -

    ## told
    A2: get => caller:routing,expires
    http:bob http:bobOnB1 http:wakeB1 B2 http:wakeB2 B1: get => callee:routing,sdp1,expires
    B2 B1: candidates => - | candidates kept
    B2: background => done | B2 offered*>offered
    B2: ack lost => - | B2 offered*>offered
    B2 B1: update connected => bad_state(routing)
    B2: reported ringing => ringing | S>ringing; B2 offered*>ringing; A1<state(ringing)
    B2: notRequired filtered failed => routing | B2 offered*>offered
    http:wakeB2: reported => ringing | S>ringing; B2 offered*>ringing; A1<state(ringing)
    all: after2s after15s after20s after30s => - | S>waking; B1 offered*>waking; B2 offered*>offered; push:B1
        ->intended; wire:B1 ->waiting; A1<state(waking)
    B1: background => done | S>waking; B1 offered*>waking; push:B1 ->intended; wire:B1 ->waiting; A1<state(waking)
    B1: ack => - | B1 offered*>offered
    B1: reported ringing => ringing | S>ringing; B1 offered*>ringing; A1<state(ringing)
    B1: notRequired filtered failed => routing | B1 offered*>offered
    B1: logout => done | B1 offered*>ended(noDevices); device:B1 tokens 1>0; B1 closed loggedOut
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 offered*>ringing; A1<state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered*>ended(cancelled); B2 offered*>ended(cancelled);
        offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1); B2<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 offered*>ended(I); B2 offered*>ended(I); offer dropped;
        missed 0>1; A1<ended(I,A1,own); B1<ended(I,A1); B2<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2
        offered*>ended(connectionLost); offer dropped; missed 0>1; A1 closed normal; B1<ended(connectionLost,A1);
        B2<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2
        offered*>ended(connectionLost); offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed loggedOut;
        B1<ended(connectionLost,A1); B2<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; B1<candidates(1); B2<candidates(1)
    B1: answer => won | S>answered; B1 offered*>answered; B2 offered*>ended(answeredElsewhere); offer kept;
        A1<state(answered); B2<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 offered*>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own);
        B2<ended(declinedElsewhere,B1)
    B1: close => done | S>waking; B1 offered*>waking; push:B1 ->intended; wire:B1 ->waiting; A1<state(waking); B1
        closed normal
    B1: lost => - | S>waking; B1 offered*>waking; push:B1 ->intended; wire:B1 ->waiting; A1<state(waking)
    B2: answer => won | S>answered; B1 offered*>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | S>ended(declined); B1 offered*>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2);
        B2<ended(declined,B2,own)
    all: after45s after5min => - | S>ended(ringTimeout); B1 offered*>ended(ringTimeout); B2
        offered*>ended(ringTimeout); push:B1 ->expired; offer dropped; missed 0>1; A1<state(waking);
        A1<ended(ringTimeout); B1<ended(ringTimeout); B2<ended(ringTimeout)
    all: restart => - | B2 offered*>offered
    all: restartAndAway => - | S>ended(connectionLost); B1 offered*>ended(connectionLost); B2
        offered*>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed 0>1
    B1: busy => ended(busy) | B1 offered*>ended(busy); B1<ended(busy,B1,own)

    ## halfTold
    A2: get => caller:routing,expires
    http:bob http:bobOnB1 http:wakeB1: get => callee:routing,sdp1,expires
    http:wakeB2: reported get => forbidden
    all: after15s after20s => -
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | S>ringing; B1 offered>ringing; A1<state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered>ended(cancelled); offer dropped; missed 0>1;
        A1<ended(cancelled,A1,own)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 offered>ended(I); offer dropped; missed 0>1;
        A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B1 offered>ended(connectionLost); offer dropped; missed 0>1; A1
        closed normal
    A1: logout => done | S>ended(connectionLost); B1 offered>ended(connectionLost); offer dropped; missed 0>1;
        device:A1 tokens 1>0; A1 closed loggedOut
    all: after30s after45s after5min => - | S>ended(noDevices); B1 offered>ended(noDevices); offer dropped; missed
        0>1; A1<ended(noDevices)
    all: restartAndAway => - | S>ended(connectionLost); B1 offered>ended(connectionLost); offer dropped; missed 0>1

    ## ringing
    all: after2s after15s after20s after30s => - | B2 offered*>offered
    B1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere); offer kept;
        A1<state(answered); B2<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own);
        B2<ended(declinedElsewhere,B1)
    B2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2);
        B2<ended(declined,B2,own)
    all: after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2
        offered*>ended(ringTimeout); offer dropped; missed 0>1; A1<ended(ringTimeout); B1<ended(ringTimeout);
        B2<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed 0>1

    ## declinedOnOne
    all: declinePolicy => -
    http:alice http:aliceOnA1: get => caller:ringing,expires
    http:bob http:wakeB2: get => callee:ringing,sdp1,expires
    all: after2s after15s after20s after30s restart => - | B2 offered*>offered
    A1: hangup => ended(cancelled) | S>ended(cancelled); B2 offered*>ended(cancelled); offer dropped;
        A1<ended(cancelled,A1,own); B2<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B2 offered*>ended(I); offer dropped; A1<ended(I,A1,own);
        B2<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B2 offered*>ended(connectionLost); offer dropped; A1 closed normal;
        B2<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B2 offered*>ended(connectionLost); offer dropped; device:A1 tokens
        1>0; A1 closed loggedOut; B2<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; B2<candidates(1)
    B2: answer => won | S>answered; B2 offered*>answered; offer kept; A1<state(answered)
    B2: hangups declined dnd => ended(declined) | S>ended(declined); B2 offered*>ended(declined); offer dropped;
        A1<ended(declined,B2); B2<ended(declined,B2,own)
    B2: close => done | S>ended(declined); B2 offered*>ended(noDevices); offer dropped; A1<ended(declined,B1); B2
        closed normal
    B2: logout => done | S>ended(declined); B2 offered*>ended(noDevices); offer dropped; A1<ended(declined,B1); B2
        closed loggedOut
    all: after45s after5min => - | S>ended(ringTimeout); B2 offered*>ended(ringTimeout); offer dropped;
        A1<ended(ringTimeout); B2<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B2 offered*>ended(connectionLost); offer dropped
    B2: busy => ended(busy) | S>ended(busy); B2 offered*>ended(busy); offer dropped; A1<ended(busy,B2);
        B2<ended(busy,B2,own)

    ## backAfterRestart
    http:wakeB2: reported => ringing | B2 offered>ringing
    all: after2s after15s after20s => -
    B1: update => bad_state(ringing)
    A1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2 offered>ended(cancelled);
        offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); B2 offered>ended(I); offer dropped;
        missed 0>1; A1<ended(I,A1,own); B1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2 offered>ended(connectionLost);
        offer dropped; missed 0>1; A1 closed normal; B1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered>ended(connectionLost); offer dropped; missed 0>1; device:A1 tokens 1>0; A1 closed loggedOut;
        B1<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; B1<candidates(1)
    B1: answer => won | S>answered; B1 ringing>answered; B2 offered>ended(answeredElsewhere); offer kept;
        A1<state(answered)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own)
    all: after30s => - | B2 offered>ended(noDevices)
    all: after45s after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2 offered>ended(noDevices);
        offer dropped; missed 0>1; A1<ended(ringTimeout); B1<ended(ringTimeout)
    all: restart => - | B1 ringing>ringing*
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed 0>1

    ## callerLost
    all: after2s after15s after20s => - | B2 offered*>offered
    B1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere); offer kept;
        B1<peer(away); B2<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    B2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        B1<ended(answeredElsewhere,B2); B2<peer(away)
    B2: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)
    all: after30s after45s after5min => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); offer dropped; missed 0>1; B1<ended(connectionLost,A1);
        B2<ended(connectionLost,A1)
    all: restart => - | B1 ringing>ringing*; B2 offered*>offered
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed 0>1

    ## restarted
    push:B2: returned ready accepted deadToken rejected unknown unsent => -
    http:alice http:aliceOnA1: get => caller:ringing,expires
    http:bob http:bobOnB1 http:wakeB1 http:wakeB2: get => callee:ringing,sdp1,expires
    http:wakeB2: reported => ringing | B2 offered>ringing
    all: after2s after15s after20s => - | B1 ringing*>ringing; push:B1 ->intended; wire:B1 ->waiting
    http:bob http:bobOnB1 http:wakeB1: reported => ringing | B1 ringing*>ringing
    all: after30s after45s after5min restartAndAway => - | S>ended(connectionLost); B1
        ringing*>ended(connectionLost); B2 offered>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed
        0>1

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, selfCall, told, halfTold, ringing, declinedOnOne, backAfterRestart, callerLost, restarted,
        forwarding, forwarded
    http:aliceOnA1: ringing answer declined => forbidden
    http:sam http:wakeXForAnother: ringing answer declined hangup => forbidden

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, told, halfTold, ringing, declinedOnOne, backAfterRestart, callerLost, restarted, forwarding,
        forwarded
    http:alice: ringing answer declined => forbidden

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother, reported, list, listDeclined, hunt,
        huntLast, told, ringing, declinedOnOne, backAfterRestart, callerLost, restarted, forwarding, forwarded
    http:bob: ringing answer declined hangup => invalid_params

    ## reported, list, hunt, huntLast, ringing, backAfterRestart, callerLost, restarted, forwarding
    http:bobOnB1 http:wakeB1: ringing => ringing

    ## queued, sent, accepted, unknown, rejected, woken, wokenForAnother
    http:wakeB2: ringing => ringing | S>ringing; B2 waking>ringing; push:B2 intended>cancelled; wire:B2 waiting>-;
        A1<state(ringing)

    ## list, hunt, ringing, declinedOnOne, callerLost, forwarding
    http:wakeB2: ringing => ringing | B2 offered*>ringing

    ## sent, unknown, wokenForAnother
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 waking>ended(cancelled); B2
        waking>ended(cancelled); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1;
        A1<ended(cancelled,A1,own)
    http:wakeB2: answer => won | S>answered; B1 waking>ended(answeredElsewhere); B2 waking>answered; push:B2
        intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered); A1<peer(away)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declinedElsewhere); B2
        waking>ended(declined); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; A1<ended(declined,B2)

    ## accepted, woken, told
    http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 offered*>ringing; A1<state(ringing)

    ## huntLast, backAfterRestart, restarted
    http:wakeB2: ringing => ringing | B2 offered>ringing

    ## accepted, woken
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered*>ended(cancelled); B2
        waking>ended(cancelled); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1;
        A1<ended(cancelled,A1,own); B1<ended(cancelled,A1)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 offered*>answered; B2 waking>ended(answeredElsewhere);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered); B1<state(answered)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 offered*>ended(declined);
        B2 waking>ended(declinedElsewhere); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped;
        A1<ended(declined,B1); B1<ended(declined,B1,own)
    http:wakeB2: answer => won | S>answered; B1 offered*>ended(answeredElsewhere); B2 waking>answered; push:B2
        intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered); A1<peer(away);
        B1<ended(answeredElsewhere,B2)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 offered*>ended(declinedElsewhere); B2
        waking>ended(declined); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; A1<ended(declined,B2);
        B1<ended(declinedElsewhere,B2)

    ## listDeclined, declinedOnOne
    http:bobOnB1 http:wakeB1: answer => call_ended(declined)
    http:bobOnB1 http:wakeB1: ringing declined hangup => ended(declined)

    ## hunt, ringing, forwarding
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        offered*>ended(cancelled); offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1);
        B2<ended(cancelled,A1)

    ## selfCall, halfTold
    http:wakeB2: ringing answer declined hangup => forbidden

    ## queued
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 waking>ended(cancelled); B2
        waking>ended(cancelled); push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2
        waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own)
    http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 waking>ringing; push:B1 intended>cancelled; wire:B1
        waiting>-; A1<state(ringing)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 waking>answered; B2 waking>ended(answeredElsewhere);
        push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declined); B2
        waking>ended(declinedElsewhere); push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-;
        wire:B2 waiting>-; offer dropped; A1<ended(declined,B1)
    http:wakeB2: answer => won | S>answered; B1 waking>ended(answeredElsewhere); B2 waking>answered; push:B1
        intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declinedElsewhere); B2
        waking>ended(declined); push:B1 intended>cancelled; push:B2 intended>cancelled; wire:B1 waiting>-; wire:B2
        waiting>-; offer dropped; A1<ended(declined,B2)

    ## sent
    http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 waking>ringing; push:B1 sent/awaited>sent/acted;
        A1<state(ringing)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 waking>answered; B2 waking>ended(answeredElsewhere);
        push:B1 sent/awaited>sent/acted; push:B2 intended>cancelled; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declined); B2
        waking>ended(declinedElsewhere); push:B1 sent/awaited>sent/acted; push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; A1<ended(declined,B1)

    ## unknown
    http:bobOnB1: ringing => ringing | S>ringing; B1 waking>ringing; push:B1 unknown/awaited>unknown/acted;
        A1<state(ringing)
    http:bobOnB1: answer => won | S>answered; B1 waking>answered; B2 waking>ended(answeredElsewhere); push:B1
        unknown/awaited>unknown/acted; push:B2 intended>cancelled; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:bobOnB1: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declined); B2
        waking>ended(declinedElsewhere); push:B1 unknown/awaited>unknown/acted; push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; A1<ended(declined,B1)
    http:wakeB1: ringing => ringing | S>ringing; B1 waking>ringing; push:B1 unknown/awaited>accepted/acted;
        A1<state(ringing)
    http:wakeB1: answer => won | S>answered; B1 waking>answered; B2 waking>ended(answeredElsewhere); push:B1
        unknown/awaited>accepted/acted; push:B2 intended>cancelled; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declined); B2
        waking>ended(declinedElsewhere); push:B1 unknown/awaited>accepted/acted; push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; A1<ended(declined,B1)

    ## rejected
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B2 waking>ended(cancelled); push:B2
        intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1; A1<ended(cancelled,A1,own)
    http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 ended(noDevices)>ringing; A1<state(ringing)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ended(noDevices)>answered; B2
        waking>ended(answeredElsewhere); push:B2 intended>cancelled; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1
        ended(noDevices)>ended(declined); B2 waking>ended(declinedElsewhere); push:B2 intended>cancelled; wire:B2
        waiting>-; offer dropped; A1<ended(declined,B1)
    http:wakeB2: answer => won | S>answered; B2 waking>answered; push:B2 intended>cancelled; wire:B2 waiting>-;
        offer kept; A1<state(answered); A1<peer(away)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B2 waking>ended(declined); push:B2
        intended>cancelled; wire:B2 waiting>-; offer dropped; A1<ended(declined,B2)

    ## wokenForAnother
    http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 waking>ringing; push:B1
        accepted/awaited>accepted/acted; A1<state(ringing)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 waking>answered; B2 waking>ended(answeredElsewhere);
        push:B1 accepted/awaited>accepted/acted; push:B2 intended>cancelled; wire:B2 waiting>-; offer kept;
        A1<state(answered); A1<peer(away)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 waking>ended(declined); B2
        waking>ended(declinedElsewhere); push:B1 accepted/awaited>accepted/acted; push:B2 intended>cancelled;
        wire:B2 waiting>-; offer dropped; A1<ended(declined,B1)

    ## reported
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        waking>ended(cancelled); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; missed 0>1;
        A1<ended(cancelled,A1,own)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; B2 waking>ended(answeredElsewhere);
        push:B2 intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered); A1<peer(away)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        waking>ended(declinedElsewhere); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped;
        A1<ended(declined,B1)
    http:wakeB2: ringing => ringing | B2 waking>ringing; push:B2 intended>cancelled; wire:B2 waiting>-
    http:wakeB2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 waking>answered; push:B2
        intended>cancelled; wire:B2 waiting>-; offer kept; A1<state(answered); A1<peer(away)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        waking>ended(declined); push:B2 intended>cancelled; wire:B2 waiting>-; offer dropped; A1<ended(declined,B2)

    ## list
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        offered*>ended(cancelled); C1 offered*>ended(cancelled); offer dropped; missed 0>2;
        A1<ended(cancelled,A1,own); B1<ended(cancelled,A1); B2<ended(cancelled,A1); C1<ended(cancelled,A1)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere);
        C1 offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<state(answered);
        B2<ended(answeredElsewhere,B1); C1<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    http:wakeB2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<ended(answeredElsewhere,B2);
        B2<state(answered); C1<ended(answeredElsewhere,B2)
    http:wakeB2: declined hangup => ended(declined) | B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)

    ## listDeclined
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); C1 offered*>ended(cancelled); offer
        dropped; missed 0>1; A1<ended(cancelled,A1,own); C1<ended(cancelled,A1)
    http:wakeB2: answer => call_ended(declinedElsewhere)
    http:wakeB2: ringing declined hangup => ended(declinedElsewhere)

    ## hunt
    http:bobOnB1 http:wakeB1: answer => won | S>answered/1; B1 ringing>answered; B2
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<state(answered);
        B2<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ringing/2; B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); C1 ->offered*; B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1);
        C1<incoming
    http:wakeB2: answer => won | S>answered/1; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer
        kept; A1<state(answered); B1<ended(answeredElsewhere,B2); B2<state(answered)
    http:wakeB2: declined hangup => ended(declined) | S>ringing/2; B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); C1 ->offered*; B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own);
        C1<incoming

    ## huntLast
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        offered>ended(cancelled); C1 offered*>ended(cancelled); offer dropped; missed 0>2;
        A1<ended(cancelled,A1,own); B1<ended(cancelled,A1); B2<ended(cancelled,A1); C1<ended(cancelled,A1)
    http:bobOnB1 http:wakeB1: answer => won | S>answered/2; B1 ringing>answered; B2
        offered>ended(answeredElsewhere); C1 offered*>ended(answeredElsewhere); offer kept; A1<state(answered);
        B1<state(answered); B2<ended(answeredElsewhere,B1); C1<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | B1 ringing>ended(declined); B2
        offered>ended(declinedElsewhere); B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    http:wakeB2: answer => won | S>answered/2; B1 ringing>ended(answeredElsewhere); B2 offered>answered; C1
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<ended(answeredElsewhere,B2);
        B2<state(answered); C1<ended(answeredElsewhere,B2)
    http:wakeB2: declined hangup => ended(declined) | B1 ringing>ended(declinedElsewhere); B2
        offered>ended(declined); B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)

    ## selfCall
    http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); A2 offered*>ended(cancelled); offer dropped;
        A1<ended(cancelled,A1,own); A2<ended(cancelled,A1)
    http:alice: ringing answer declined hangup => invalid_params
    http:bob http:bobOnB1 http:wakeB1: ringing answer declined hangup => forbidden

    ## told
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered*>ended(cancelled); B2
        offered*>ended(cancelled); offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1);
        B2<ended(cancelled,A1)
    http:wakeB2: ringing => ringing | S>ringing; B2 offered*>ringing; A1<state(ringing)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 offered*>answered; B2
        offered*>ended(answeredElsewhere); offer kept; A1<state(answered); B1<state(answered);
        B2<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 offered*>ended(declined);
        B2 offered*>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own);
        B2<ended(declinedElsewhere,B1)
    http:wakeB2: answer => won | S>answered; B1 offered*>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2); B2<state(answered)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 offered*>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2);
        B2<ended(declined,B2,own)

    ## halfTold
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 offered>ended(cancelled); offer
        dropped; missed 0>1; A1<ended(cancelled,A1,own)
    http:bob http:bobOnB1 http:wakeB1: ringing => ringing | S>ringing; B1 offered>ringing; A1<state(ringing)
    http:bob http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 offered>answered; offer kept;
        A1<state(answered); A1<peer(away)
    http:bob http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1
        offered>ended(declined); offer dropped; A1<ended(declined,B1)

    ## ringing, forwarding
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere);
        offer kept; A1<state(answered); B1<state(answered); B2<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own);
        B2<ended(declinedElsewhere,B1)
    http:wakeB2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2); B2<state(answered)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2);
        B2<ended(declined,B2,own)

    ## declinedOnOne
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B2 offered*>ended(cancelled); offer
        dropped; A1<ended(cancelled,A1,own); B2<ended(cancelled,A1)
    http:wakeB2: answer => won | S>answered; B2 offered*>answered; offer kept; A1<state(answered);
        B2<state(answered)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B2 offered*>ended(declined); offer dropped;
        A1<ended(declined,B2); B2<ended(declined,B2,own)

    ## backAfterRestart
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        offered>ended(cancelled); offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; B2 offered>ended(answeredElsewhere);
        offer kept; A1<state(answered); B1<state(answered)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own)
    http:wakeB2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered>answered; offer kept;
        A1<state(answered); A1<peer(away); B1<ended(answeredElsewhere,B2)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2)

    ## callerLost
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled); B2
        offered*>ended(cancelled); offer dropped; missed 0>1; B1<ended(cancelled,A1); B2<ended(cancelled,A1)
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere);
        offer kept; B1<peer(away); B1<state(answered); B2<ended(answeredElsewhere,B1)
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; B1<ended(declined,B1,own); B2<ended(declinedElsewhere,B1)
    http:wakeB2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        B1<ended(answeredElsewhere,B2); B2<peer(away); B2<state(answered)
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; B1<ended(declinedElsewhere,B2); B2<ended(declined,B2,own)

    ## restarted
    http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing*>ended(cancelled); B2
        offered>ended(cancelled); offer dropped; missed 0>1
    http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing*>answered; B2 offered>ended(answeredElsewhere);
        offer kept
    http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1 ringing*>ended(declined);
        B2 offered>ended(declinedElsewhere); offer dropped
    http:wakeB2: answer => won | S>answered; B1 ringing*>ended(answeredElsewhere); B2 offered>answered; offer kept
    http:wakeB2: declined hangup => ended(declined) | S>ended(declined); B1 ringing*>ended(declinedElsewhere); B2
        offered>ended(declined); offer dropped

    ## forwarding
    C1: background => done
    C1: ack candidates lost => -
    B1: answer => won | S>answered; B1 ringing>answered; B2 offered*>ended(answeredElsewhere); offer kept;
        A1<state(answered); B2<ended(answeredElsewhere,B1)
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declined); B2
        offered*>ended(declinedElsewhere); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own);
        B2<ended(declinedElsewhere,B1)
    B2: answer => won | S>answered; B1 ringing>ended(answeredElsewhere); B2 offered*>answered; offer kept;
        A1<state(answered); B1<ended(answeredElsewhere,B2)
    B2: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declinedElsewhere); B2
        offered*>ended(declined); offer dropped; A1<ended(declined,B2); B1<ended(declinedElsewhere,B2);
        B2<ended(declined,B2,own)
    C1: declines hangups reports ringing answer connected update get => forbidden
    C1: close => done | C1 closed normal
    C1: logout => done | device:C1 tokens 1>0; C1 closed loggedOut
    C1: list => calls(0)
    all: after2s after15s after20s after30s => - | B2 offered*>offered
    all: after45s => - | call noted; B1 ringing>ended(ringTimeout); B2 offered*>ended(ringTimeout); C1 ->offered*;
        A1<state(ringing); B1<ended(ringTimeout); B2<ended(ringTimeout); C1<incoming
    all: after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); B2 offered*>ended(ringTimeout); C1
        ->ended(ringTimeout); push:C1 ->expired; offer dropped; missed 0>2; A1<state(ringing); A1<ended(ringTimeout);
        B1<ended(ringTimeout); B2<ended(ringTimeout); C1<incoming; C1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); B2
        offered*>ended(connectionLost); push:B1 ->cancelled; offer dropped; missed 0>1

    ## forwarded
    A1 http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); C1 offered*>ended(cancelled); offer
        dropped; missed 0>2; A1<ended(cancelled,A1,own); C1<ended(cancelled,A1)
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); C1 offered*>ended(I); offer dropped; missed 0>2;
        A1<ended(I,A1,own); C1<ended(I,A1)
    A2 http:alice http:aliceOnA1: get => caller:ringing,expires
    A1: close => done | S>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>2; A1
        closed normal; C1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); C1 offered*>ended(connectionLost); offer dropped; missed 0>2;
        device:A1 tokens 1>0; A1 closed loggedOut; C1<ended(connectionLost,A1)
    A1: candidates => - | candidates kept; C1<candidates(1)
    B2: ack candidates lost => -
    B1 B2: declines hangups reports ringing connected => ended(ringTimeout)
    http:bob: reported => ended(ringTimeout)
    http:bobOnB1 http:wakeB1 http:wakeB2: reported ringing declined hangup => ended(ringTimeout)
    B1 B2 http:bobOnB1 http:wakeB1 http:wakeB2: answer => call_ended(ringTimeout)
    B1 B2: update => bad_state(ringing)
    B1 B2 http:bob http:bobOnB1 http:wakeB1 http:wakeB2: get => callee:ended,ringTimeout
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut
    B2: background => done
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    C1: answer => won | S>answered; C1 offered*>answered; offer kept; A1<state(answered)
    C1: hangups declined dnd => ended(declined) | S>ended(declined); C1 offered*>ended(declined); offer dropped;
        missed 0>1; A1<ended(declined,C1); C1<ended(declined,C1,own)
    C1: busy => ended(busy) | S>ended(busy); C1 offered*>ended(busy); offer dropped; missed 0>2; A1<ended(busy,C1);
        C1<ended(busy,C1,own)
    C1: logout => done | S>ended(noDevices); C1 offered*>ended(noDevices); offer dropped; missed 0>2; device:C1 tokens
        1>0; A1<ended(noDevices); C1 closed loggedOut
    all: after2s after15s after20s after30s => - | C1 offered*>waking; push:C1 ->intended; wire:C1 ->waiting
    all: restart => -
    all: after45s after5min => - | S>ended(ringTimeout); C1 offered*>ended(ringTimeout); push:C1 ->expired; offer
        dropped; missed 0>2; A1<ended(ringTimeout); C1<ended(ringTimeout)
    all: restartAndAway => - | S>ended(connectionLost); C1 offered*>ended(connectionLost); push:C1 ->cancelled; offer
        dropped; missed 0>2
    """
