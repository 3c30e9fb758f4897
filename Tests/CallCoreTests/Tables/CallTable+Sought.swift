/// A call whose callee is not in memory, and one that waits for the target that its callee forwards to. See
/// ``BehaviourTable`` for how to read it. After "found:" are the changes when the store then answers, if they differ from
/// those without the input. `A1=` is the answer to a request that waited.
let callTableSought = """
    ## sought
    A1: declines reports wrongPush ringing answer => waits | waiting +1 | again: waiting +1 | found: S>waking; B1
        ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer
        kept; A1=invited(waking); A1=forbidden; A1=forbidden; none waits
    A1: connected update => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking;
        push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept;
        A1=invited(waking); A1=bad_state(waking); A1=bad_state(waking); none waits
    A1: hangup => waits | waiting +1 | again: waiting +1 | found: S>ended(cancelled); B1 ->ended(cancelled); B2
        ->ended(cancelled); push:B1 ->cancelled; push:B2 ->cancelled; missed 0>1; A1<ended(cancelled,A1,own);
        A1=invited(waking); A1=ended(cancelled); A1=ended(cancelled); none waits
    A1: iceFailed mediaFailed => waits | waiting +1 | again: waiting +1 | found: S>ended(I); B1 ->ended(I); B2
        ->ended(I); push:B1 ->cancelled; push:B2 ->cancelled; missed 0>1; A1<ended(I,A1,own); A1=invited(waking);
        A1=ended(I); A1=ended(I); none waits
    A1: get => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A1=caller:waking,expires; A1=caller:waking,expires; none waits
    A1: inviteAgain => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A1=invited(waking); A1=invited(waking); none waits
    A1: inviteOther => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A1=conflict; A1=conflict; none waits
    A1 A2: open => bad_state
    A1 A2: foreground background clearMissed => done
    A1: close => done | A1 closed normal | found: none waits
    A1: logout => done | device:A1 tokens 1>0; A1 closed loggedOut | found: none waits
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1 A2: list => calls(0)
    A1: ack ackOfNothing => -
    A1: candidates => - | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; candidates kept;
        A1=invited(waking); none waits
    A1: lost => - | found: none waits
    A2: hangups declines reports wrongPush ringing answer connected update => waits | waiting +1 | again: waiting +1
        | found: S>waking; B1 ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting;
        wire:B2 ->waiting; offer kept; A1=invited(waking); A2=forbidden; A2=forbidden; none waits
    A2: get => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A2=caller:waking,expires; A2=caller:waking,expires; none waits
    A2: invites => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A2=conflict; A2=conflict; none waits
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2: ack ackOfNothing lost => -
    A2 S X: candidates => - | waiting +1 | again: waiting +1
    S: hangups invites declines reports wrongPush ringing answer connected update get => waits | waiting +1 | again:
        waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1
        ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking); S=forbidden; S=forbidden; none waits
    X: hangups declines reports wrongPush ringing answer connected update get => waits | waiting +1 | again: waiting
        +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting;
        wire:B2 ->waiting; offer kept; A1=invited(waking); X=forbidden; X=forbidden; none waits
    X: invites => waits | waiting +1 | again: waiting +1 | found: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        X=forbidden(wake); X=forbidden(wake); none waits
    http:alice http:aliceOnA1: get reported ringing answer declined => - | waiting +1 | again: waiting +1
    http:alice http:aliceOnA1: hangup => - | waiting +1 | again: waiting +1 | found: S>ended(cancelled); B1
        ->ended(cancelled); B2 ->ended(cancelled); push:B1 ->cancelled; push:B2 ->cancelled; missed 0>1;
        A1<ended(cancelled,A1,own); A1=invited(waking); none waits
    http:bob http:sam http:wakeXForAnother: get reported ringing answer declined hangup => - | waiting +1 | again:
        waiting +1
    http:bobOnB1 http:wakeB1 http:wakeB2: get reported => - | waiting +1 | again: waiting +1
    http:bobOnB1 http:wakeB1: ringing => - | waiting +1 | again: waiting +1 | found: S>ringing; B1 ->ringing; B2
        ->waking; push:B1 ->cancelled; push:B2 ->intended; wire:B2 ->waiting; offer kept; A1<state(ringing);
        A1=invited(waking); none waits
    http:bobOnB1 http:wakeB1: answer => - | waiting +1 | again: waiting +1 | found: S>answered; B1 ->answered; B2
        ->ended(answeredElsewhere); push:B1 ->cancelled; push:B2 ->cancelled; offer kept; A1<state(answered);
        A1<peer(away); A1=invited(waking); none waits
    http:bobOnB1 http:wakeB1: declined hangup => - | waiting +1 | again: waiting +1 | found: S>ended(declined); B1
        ->ended(declined); B2 ->ended(declinedElsewhere); push:B1 ->cancelled; push:B2 ->cancelled;
        A1<ended(declined,B1); A1=invited(waking); none waits
    http:wakeB2: ringing => - | waiting +1 | again: waiting +1 | found: S>ringing; B1 ->waking; B2 ->ringing;
        push:B1 ->intended; push:B2 ->cancelled; wire:B1 ->waiting; offer kept; A1<state(ringing);
        A1=invited(waking); none waits
    http:wakeB2: answer => - | waiting +1 | again: waiting +1 | found: S>answered; B1 ->ended(answeredElsewhere); B2
        ->answered; push:B1 ->cancelled; push:B2 ->cancelled; offer kept; A1<state(answered); A1<peer(away);
        A1=invited(waking); none waits
    http:wakeB2: declined hangup => - | waiting +1 | again: waiting +1 | found: S>ended(declined); B1
        ->ended(declinedElsewhere); B2 ->ended(declined); push:B1 ->cancelled; push:B2 ->cancelled;
        A1<ended(declined,B2); A1=invited(waking); none waits
    all: after2s after15s after20s after30s after45s after5min searchFailed => - | A1=overloaded; none waits
    all: restart restartAndAway => - | none waits
    all: doNotDisturb => - | users | found: S>ended(declined); missed 0>1; A1<ended(declined);
        A1=invited(ended,declined); none waits
    all: noCallWaiting declinePolicy => - | users
    all: groupGone alias => -
    all: groupChanged => - | groups
    all: found => - | S>waking; B1 ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting;
        wire:B2 ->waiting; offer kept; A1=invited(waking); none waits
    all: notFound => - | S>ended(unknownCallee); A1<ended(unknownCallee); A1=invited(ended,unknownCallee); none
        waits
    all: draining => - | found: A1=draining; none waits
    all: tightened => - | found: S>waking; B1 ->waking; push:B1 ->intended; wire:B1 ->waiting; offer kept;
        A1=invited(waking); none waits
    meanwhile: calleeComes => - | device:B3 tokens 0>1 streak 0 | found: S>waking; B1 ->waking; B2 ->waking; B3
        ->offered*; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept;
        A1=invited(waking); B3<incoming; none waits
    meanwhile: calleeDeleted => - | found: S>waking; B2 ->waking; push:B2 ->intended; wire:B2 ->waiting; offer kept;
        A1=invited(waking); none waits
    meanwhile: calleeRevoked => - | device:B1 tokens 1>0; device:B2 tokens 1>0 | found: S>ended(noDevices); missed
        0>1; A1<ended(noDevices); A1=invited(ended,noDevices); none waits
    meanwhile: callerDeleted => - | A1 closed loggedOut | found: none waits
    meanwhile: callerDeletedAndBack => - | A1 closed loggedOut; waiting +1
    meanwhile: callerRevoked => - | device:A1 tokens 1>0; device:A2 tokens 1>0; A1 closed badToken; A2 closed
        badToken | found: none waits
    meanwhile: callerDropped => - | A1 closed dropped | found: none waits
    meanwhile: otherInvite => - | another call
    meanwhile: calleeInvites => - | another call | found: S>waking; B1 ->offered*; B2 ->waking; push:B2 ->intended;
        wire:B2 ->waiting; offer kept; another call; A1=invited(waking); B1<incoming; none waits
    meanwhile: calleeInvitesFirst => - | another call | found: S>ended(glare); A1<ended(glare);
        A1=invited(ended,glare); none waits
    meanwhile: switchedOff => -

    ## soughtForward
    A1: declines reports wrongPush ringing answer => forbidden
    A1 B1: connected update => bad_state(ringing)
    A1 http:alice http:aliceOnA1: hangup => ended(cancelled) | S>ended(cancelled); B1 ringing>ended(cancelled);
        offer dropped; missed 0>1; A1<ended(cancelled,A1,own); B1<ended(cancelled,A1) | found: none waits
    A1: iceFailed mediaFailed => ended(I) | S>ended(I); B1 ringing>ended(I); offer dropped; missed 0>1;
        A1<ended(I,A1,own); B1<ended(I,A1) | found: none waits
    A1 A2 http:alice http:aliceOnA1: get => caller:ringing,expires
    A1: inviteAgain => invited(ringing)
    A1: inviteOther => conflict
    A1 A2 B1: open => bad_state
    A1 A2 B1: foreground background clearMissed => done
    A1: close => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped; missed 0>1; A1
        closed normal; B1<ended(connectionLost,A1) | found: none waits
    A1: logout => done | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped; missed 0>1;
        device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1) | found: none waits
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1 A2 B1: list => calls(1)
    A1 B1: ack ackOfNothing => -
    A1: candidates => - | candidates kept; B1<candidates(1)
    A1: lost => - | found: call noted; B1 ringing>ended(ringTimeout); C1 ->waking; push:C1 ->intended; wire:C1
        ->waiting; B1<ended(ringTimeout); none waits
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden
    A2: invites => conflict
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2: ack ackOfNothing candidates lost => -
    B1: reports ringing => ringing
    B1: invites wrongPush => forbidden
    B1: answer => won | S>answered; B1 ringing>answered; offer kept; A1<state(answered) | found: none waits
    B1: hangups declined dnd => ended(declined) | S>ended(declined); B1 ringing>ended(declined); offer dropped;
        A1<ended(declined,B1); B1<ended(declined,B1,own) | found: none waits
    B1: busy => ended(busy) | B1 ringing>ended(busy); B1<ended(busy,B1,own) | found: call noted; C1 ->waking;
        push:C1 ->intended; wire:C1 ->waiting; A1<state(ringing); none waits
    B1 http:bob http:bobOnB1 http:wakeB1: get => callee:ringing,sdp1,expires
    B1: close => done | push:B1 ->intended; wire:B1 ->waiting; B1 closed normal | found: call noted; B1
        ringing>ended(ringTimeout); C1 ->waking; push:B1 intended>expired; push:C1 ->intended; wire:B1 waiting>-;
        wire:C1 ->waiting; A1<state(ringing); none waits
    B1: logout => done | B1 ringing>ended(noDevices); device:B1 tokens 1>0; B1 closed loggedOut | found: call noted;
        C1 ->waking; push:C1 ->intended; wire:C1 ->waiting; A1<state(ringing); none waits
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B1: candidates => - | candidates kept
    B1: lost => - | B1 ringing>ringing* | found: call noted; B1 ringing*>ended(ringTimeout); C1 ->waking; push:C1
        ->intended; wire:C1 ->waiting; A1<state(ringing); none waits
    S: hangups invites declines reports wrongPush ringing answer connected update get => forbidden
    S X: candidates => -
    X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    X: invites => forbidden(wake)
    push:B1: ready accepted deadToken rejected unknown returned unsent => -
    http:alice http:aliceOnA1: reported ringing answer declined => forbidden
    http:bob http:bobOnB1 http:wakeB1: reported ringing => ringing
    http:bob http:bobOnB1 http:wakeB1: answer => won | S>answered; B1 ringing>answered; offer kept;
        A1<state(answered); B1<state(answered) | found: none waits
    http:bob http:bobOnB1 http:wakeB1: declined hangup => ended(declined) | S>ended(declined); B1
        ringing>ended(declined); offer dropped; A1<ended(declined,B1); B1<ended(declined,B1,own) | found: none waits
    http:wakeB2 http:sam http:wakeXForAnother: get reported ringing answer declined hangup => forbidden
    all: after2s after15s after20s after30s after45s found => - | call noted; B1 ringing>ended(ringTimeout); C1
        ->waking; push:C1 ->intended; wire:C1 ->waiting; A1<state(ringing); B1<ended(ringTimeout); none waits
    all: after5min => - | S>ended(ringTimeout); B1 ringing>ended(ringTimeout); C1 ->ended(ringTimeout); push:C1
        ->expired; offer dropped; missed 0>2; A1<state(ringing); A1<ended(ringTimeout); B1<ended(ringTimeout); none
        waits
    all: restart => - | call noted; B1 ringing>ended(ringTimeout); C1 ->waking; push:C1 ->intended; wire:C1
        ->waiting; none waits
    all: restartAndAway => - | S>ended(connectionLost); B1 ringing>ended(ringTimeout); C1 ->ended(connectionLost);
        push:C1 ->cancelled; offer dropped; missed 0>2; none waits
    all: doNotDisturb noCallWaiting declinePolicy => - | users
    all: groupGone alias searchFailed draining => -
    all: groupChanged => - | groups
    all: notFound => - | S>ended(unknownCallee); B1 ringing>ended(ringTimeout); offer dropped; missed 0>1;
        A1<ended(unknownCallee); B1<ended(ringTimeout); none waits
    all: tightened => - | found: S>ended(noDevices); B1 ringing>ended(ringTimeout); offer dropped; missed 0>2;
        A1<ended(noDevices); B1<ended(ringTimeout); none waits
    meanwhile: calleeComes => - | B3 ->offered*; device:B3 tokens 0>1 streak 0; B3<incoming | found: call noted; B1
        ringing>ended(ringTimeout); B3 offered*>ended(ringTimeout); C1 ->waking; push:C1 ->intended; wire:C1
        ->waiting; A1<state(ringing); B1<ended(ringTimeout); B3<ended(ringTimeout); none waits
    meanwhile: calleeDeleted => - | B1 ringing>ended(noDevices); B1 closed loggedOut | found: call noted; C1
        ->waking; push:C1 ->intended; wire:C1 ->waiting; A1<state(ringing); none waits
    meanwhile: calleeRevoked => - | B1 ringing>ended(noDevices); device:B1 tokens 1>0; B1 closed badToken | found:
        call noted; C1 ->waking; push:C1 ->intended; wire:C1 ->waiting; A1<state(ringing); none waits
    meanwhile: callerDeleted => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped; missed
        0>1; A1 closed loggedOut; B1<ended(connectionLost,A1) | found: none waits
    meanwhile: callerDeletedAndBack => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped;
        missed 0>1; device:A1 tokens 1>1; A1 closed loggedOut; B1<ended(connectionLost,A1) | found: none waits
    meanwhile: callerRevoked => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped; missed
        0>1; device:A1 tokens 1>0; device:A2 tokens 1>0; A1 closed badToken; A2 closed badToken;
        B1<ended(connectionLost,A1) | found: none waits
    meanwhile: callerDropped => - | S>ended(connectionLost); B1 ringing>ended(connectionLost); offer dropped; missed
        0>1; A1 closed dropped; B1<ended(connectionLost,A1) | found: none waits
    meanwhile: otherInvite calleeInvites => - | another call
    meanwhile: calleeInvitesFirst => - | S>ended(glare); B1 ringing>ended(glare); offer dropped; another call;
        A1<ended(glare); B1<ended(glare) | found: none waits
    meanwhile: switchedOff => -
    """
