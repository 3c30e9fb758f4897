/// Calls that somebody has answered. See ``BehaviourTable`` for how to read it.
let callTableAnswered = """
    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted, connected, connectedCallerLost,
        connectedCalleeLost
    http:wakeB2: get => callee:ended,answeredElsewhere
    S: invites hangups declines reports wrongPush ringing answer connected update get => forbidden
    S X: candidates => -
    X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    X: invites => forbidden(wake)
    push:B1 push:B2: ready accepted deadToken rejected unknown returned unsent => -
    http:alice http:aliceOnA1: reported => forbidden
    http:wakeB2: reported => ended(answeredElsewhere)
    http:sam http:wakeXForAnother: get reported => forbidden
    all: after2s restart groupGone alias found notFound searchFailed draining tightened after15s => -
    all: doNotDisturb noCallWaiting declinePolicy => - | users
    all: groupChanged => - | groups

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected, connectedCallerLost,
        connectedCalleeLost
    A2: invites => conflict
    A2: open => bad_state
    A2: foreground background clearMissed => done
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2: ack ackOfNothing candidates lost => -
    A2: list => calls(1)

    ## answered, callerConnected, calleeConnected, connected, connectedCallerLost, connectedCalleeLost
    B2: open => bad_state
    B2: ack ackOfNothing candidates lost => -
    B2: hangups declines reports ringing connected => ended(answeredElsewhere)
    B2: invites wrongPush update => forbidden
    B2: answer => already_answered(B1)
    B2: get => callee:ended,answeredElsewhere
    B2: foreground background noTokens clearMissed => done
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    B2: newToken => done | device:B2 tokens 0>1
    B2: list => calls(1)

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected, connectedCalleeLost
    A1: declines reports wrongPush ringing answer => forbidden
    A1: inviteOther => conflict
    A1: open => bad_state
    A1: foreground background clearMissed => done
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1: ack ackOfNothing => -
    A1: list => calls(1)

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected, connectedCallerLost
    B1: open => bad_state
    B1: foreground background => done
    B1: ack ackOfNothing => -
    B1: wrongPush => forbidden
    B1: answer => won

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected
    A1: update => done | B1<update | again: B1<update
    A1: candidates => - | B1<candidates(1) | again: B1<candidates(1)
    B1: update => done | A1<update | again: A1<update
    B1: candidates => - | A1<candidates(1) | again: A1<candidates(1)
    A1: hangups => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped; A1<ended(I,A1,own); B1<ended(I,A1)
    A1: close => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; A1 closed normal;
        B1<ended(connectionLost,A1)
    A1: logout => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; device:A1 tokens
        1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    B1: hangups => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped; A1<ended(I,B1); B1<ended(I,B1,own)
    B1: close => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        A1<ended(connectionLost,B1); B1 closed normal
    B1: lost => - | A1<peer(away)
    A1: lost => - | B1<peer(away)

    ## answered, callerConnected, calleeConnected, connected, connectedCallerLost
    B1: clearMissed => done
    B1: invites => forbidden
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B1: list => calls(1)

    ## answered, callerConnected, calleeConnected, wokenAnswered
    http:alice http:aliceOnA1 A2 A1: get => caller:answered,sdp3,expires
    http:bob http:bobOnB1 http:wakeB1 B1: get => callee:answered,sdp1,expires
    all: after20s after30s after45s after5min => - | S>ended(connectTimeout); B1 answered>ended(connectTimeout);
        offer dropped; A1<ended(connectTimeout); B1<ended(connectTimeout)
    all: restartAndAway => - | S>ended(connectTimeout); B1 answered>ended(connectTimeout); offer dropped
    A1: inviteAgain => invited(answered)
    B1: ringing => answered
    B1: declines => bad_state(answered)

    ## answered, callerConnected, calleeConnected
    http:bob http:bobOnB1 http:wakeB1: reported => answered
    B1: reports => answered
    B1: logout => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; device:B1 tokens
        1>0; A1<ended(connectionLost,B1); B1 closed loggedOut

    ## connected, connectedCallerLost, connectedCalleeLost
    http:alice http:aliceOnA1 A2: get => caller:connected
    http:bob http:bobOnB1 http:wakeB1: get => callee:connected
    http:bob http:bobOnB1 http:wakeB1: reported => connected
    all: after20s => -
    all: restartAndAway => - | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped

    ## answered, wokenAnswered
    A1: connected => answered | S>answered+caller
    B1: connected => answered | S>answered+callee

    ## connected, connectedCalleeLost
    A1: get => caller:connected
    A1: inviteAgain => invited(connected)
    A1: connected => connected

    ## connected, connectedCallerLost
    B1: reports ringing connected => connected
    B1: declines => bad_state(connected)
    B1: get => callee:connected

    ## callerConnected
    A1: connected => answered
    B1: connected => connected | S>connected; offer kept; A1<state(connected); B1<state(connected)

    ## calleeConnected
    A1: connected => connected | S>connected; offer kept; A1<state(connected); B1<state(connected)
    B1: connected => answered

    ## wokenAnswered
    http:bob http:bobOnB1 http:wakeB1: reported => answered | push:B1 accepted/acted>accepted/reported
    B1: invites clearMissed noTokens newToken logout list => forbidden(wake)
    B1: reported => answered | push:B1 accepted/acted>accepted/reported
    B1: notRequired => answered | push:B1 accepted/acted>accepted/notRequired
    B1: filtered => answered | push:B1 accepted/acted>accepted/filtered
    B1: failed => answered | push:B1 accepted/acted>accepted/reportFailed

    ## answeredRestarted
    http:alice http:aliceOnA1: get => caller:answered,sdp3,expires
    http:bob http:bobOnB1 http:wakeB1: get => callee:answered,sdp1,expires
    http:bob http:bobOnB1 http:wakeB1: reported => answered
    all: after20s restartAndAway after30s after45s after5min => - | S>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped

    ## connected
    B1: logout => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; device:B1 tokens
        1>0; A1<ended(connectionLost,B1); B1 closed loggedOut
    all: after30s after45s after5min => -

    ## connectedCallerLost
    B1: update => done
    B1: candidates lost => -
    B1: hangups => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped; B1<ended(I,B1,own)
    B1: close => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; B1 closed normal
    B1: logout => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; device:B1 tokens
        1>0; B1 closed loggedOut
    all: after30s after45s after5min => - | S>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; B1<ended(connectionLost,A1)

    ## connectedCalleeLost
    A1: update => done
    A1: candidates lost => -
    A1: hangups => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped; A1<ended(I,A1,own)
    A1: close => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; A1 closed normal
    A1: logout => done | S>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; device:A1 tokens
        1>0; A1 closed loggedOut
    all: after30s after45s after5min => - | S>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; A1<ended(connectionLost,B1)

    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted, connected, connectedCallerLost,
        connectedCalleeLost
    http:alice http:aliceOnA1: ringing answer declined => forbidden
    http:sam http:wakeXForAnother: ringing answer declined hangup => forbidden
    http:bob http:bobOnB1 http:wakeB1: answer => won
    http:wakeB2: answer => already_answered(B1)
    http:wakeB2: ringing declined hangup => ended(answeredElsewhere)

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected
    http:alice http:aliceOnA1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped;
        A1<ended(I,A1,own); B1<ended(I,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped;
        A1<ended(I,B1); B1<ended(I,B1,own)

    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted
    http:bob http:bobOnB1 http:wakeB1: ringing => answered
    http:bob http:bobOnB1 http:wakeB1: declined => bad_state(answered)

    ## connected, connectedCallerLost, connectedCalleeLost
    http:bob http:bobOnB1 http:wakeB1: ringing => connected
    http:bob http:bobOnB1 http:wakeB1: declined => bad_state(connected)

    ## answeredRestarted
    http:alice http:aliceOnA1 http:bob http:bobOnB1 http:wakeB1: hangup => ended(I) | S>ended(I); B1
        answered>ended(I); offer dropped

    ## connectedCallerLost
    http:alice http:aliceOnA1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped; B1<ended(I,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped;
        B1<ended(I,B1,own)

    ## connectedCalleeLost
    http:alice http:aliceOnA1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped;
        A1<ended(I,A1,own)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(I) | S>ended(I); B1 answered>ended(I); offer dropped;
        A1<ended(I,B1)
    """
