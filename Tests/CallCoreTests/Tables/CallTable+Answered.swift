/// Calls that somebody has answered. See ``BehaviourTable`` for how to read it.
let callTableAnswered = """
    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted, connected, connectedCallerLost,
        connectedCalleeLost
    http:wakeB2: get => callee:ended,answeredElsewhere
    S: hangups invites declines reports wrongPush ringing answer connected update get => forbidden
    S X: candidates => -
    X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    X: invites => forbidden(wake)
    push:B1 push:B2: ready accepted deadToken rejected unknown returned unsent => -
    http:alice http:aliceOnA1: reported => forbidden
    http:wakeB2: reported => ended(answeredElsewhere)
    http:sam http:wakeXForAnother: get reported => forbidden
    all: after2s restart groupGone alias found notFound searchFailed draining tightened => -
    all: doNotDisturb noCallWaiting declinePolicy => - | users
    all: groupChanged => - | groups

    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted
    http:alice http:aliceOnA1: get => caller:answered,sdp3,expires
    http:bob http:bobOnB1 http:wakeB1: get => callee:answered,sdp1,expires

    ## connected, connectedCallerLost, connectedCalleeLost
    A2 http:alice http:aliceOnA1: get => caller:connected
    A2: invites => conflict
    A2 B2: open => bad_state
    A2: foreground background clearMissed => done
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2 B2: ack ackOfNothing candidates lost => -
    http:bob http:bobOnB1 http:wakeB1: get => callee:connected
    B2: hangups declines reports ringing connected => ended(answeredElsewhere)
    B2: invites wrongPush update => forbidden
    B2: answer => already_answered(B1)
    B2: get => callee:ended,answeredElsewhere
    B2: foreground background noTokens clearMissed => done
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    B2: newToken => done | device:B2 tokens 0>1
    http:bob http:bobOnB1 http:wakeB1: reported => connected
    all: after15s after20s => -
    all: restartAndAway => - | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped

    ## answered, callerConnected, calleeConnected, wokenAnswered
    A1: declines reports wrongPush ringing answer => forbidden
    A1: update => done | B1<update | again: B1<update
    A1 A2: get => caller:answered,sdp3,expires
    A1: inviteAgain => invited(answered)
    A2: invites => conflict
    A1: inviteOther => conflict
    A1 A2 B1: open => bad_state
    A1 A2: foreground background clearMissed => done
    B1: foreground background => done
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1 B1: ack ackOfNothing => -
    A1: candidates => - | B1<candidates(1) | again: B1<candidates(1)
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2: ack ackOfNothing candidates lost => -
    B1: ringing => answered
    B1: wrongPush => forbidden
    B1: answer => won
    B1: declines => bad_state(answered)
    B1: update => done | A1<update | again: A1<update
    B1: candidates => - | A1<candidates(1) | again: A1<candidates(1)
    B1: get => callee:answered,sdp1,expires

    ## answered, wokenAnswered
    A1: connected => answered | call answered>answered+caller
    A1: hangup => ended(hangup) | call answered>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    A1: iceFailed => ended(iceFailed) | call answered>ended(iceFailed); B1 answered>ended(iceFailed); offer dropped;
        A1<ended(iceFailed,A1,own); B1<ended(iceFailed,A1)
    A1: mediaFailed => ended(mediaFailed) | call answered>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; A1<ended(mediaFailed,A1,own); B1<ended(mediaFailed,A1)
    A1: close => done | call answered>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; A1
        closed normal; B1<ended(connectionLost,A1)
    A1: logout => done | call answered>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    B1: connected => answered | call answered>answered+callee
    B1: hangup => ended(hangup) | call answered>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,B1); B1<ended(hangup,B1,own)
    B1: iceFailed => ended(iceFailed) | call answered>ended(iceFailed); B1 answered>ended(iceFailed); offer dropped;
        A1<ended(iceFailed,B1); B1<ended(iceFailed,B1,own)
    B1: mediaFailed => ended(mediaFailed) | call answered>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; A1<ended(mediaFailed,B1); B1<ended(mediaFailed,B1,own)
    B1: close => done | call answered>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        A1<ended(connectionLost,B1); B1 closed normal

    ## answered, callerConnected, calleeConnected
    B2: open => bad_state
    B1: clearMissed => done
    B2: ack ackOfNothing candidates lost => -
    B1: reports => answered
    B1: invites => forbidden
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B2: hangups declines reports ringing connected => ended(answeredElsewhere)
    B2: invites wrongPush update => forbidden
    B2: answer => already_answered(B1)
    B2: get => callee:ended,answeredElsewhere
    B2: foreground background noTokens clearMissed => done
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    B2: newToken => done | device:B2 tokens 0>1

    ## answered, callerConnected, calleeConnected, answeredRestarted
    http:bob http:bobOnB1 http:wakeB1: reported => answered
    all: after15s => -

    ## answered
    B1: logout => done | call answered>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:B1 tokens 1>0; A1<ended(connectionLost,B1); B1 closed loggedOut
    all: after20s after30s after45s after5min => - | call answered>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped; A1<ended(connectTimeout); B1<ended(connectTimeout)
    all: restartAndAway => - | call answered>ended(connectTimeout); B1 answered>ended(connectTimeout); offer dropped

    ## callerConnected
    A1: connected => answered
    A1: hangup => ended(hangup) | call answered+caller>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    A1: iceFailed => ended(iceFailed) | call answered+caller>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,A1,own); B1<ended(iceFailed,A1)
    A1: mediaFailed => ended(mediaFailed) | call answered+caller>ended(mediaFailed); B1 answered>ended(mediaFailed);
        offer dropped; A1<ended(mediaFailed,A1,own); B1<ended(mediaFailed,A1)
    A1: close => done | call answered+caller>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; A1 closed normal; B1<ended(connectionLost,A1)
    A1: logout => done | call answered+caller>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    B1: hangup => ended(hangup) | call answered+caller>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,B1); B1<ended(hangup,B1,own)
    B1: iceFailed => ended(iceFailed) | call answered+caller>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,B1); B1<ended(iceFailed,B1,own)
    B1: mediaFailed => ended(mediaFailed) | call answered+caller>ended(mediaFailed); B1 answered>ended(mediaFailed);
        offer dropped; A1<ended(mediaFailed,B1); B1<ended(mediaFailed,B1,own)
    B1: close => done | call answered+caller>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; A1<ended(connectionLost,B1); B1 closed normal
    B1: logout => done | call answered+caller>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; device:B1 tokens 1>0; A1<ended(connectionLost,B1); B1 closed loggedOut
    all: after20s after30s after45s after5min => - | call answered+caller>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped; A1<ended(connectTimeout); B1<ended(connectTimeout)
    all: restartAndAway => - | call answered+caller>ended(connectTimeout); B1 answered>ended(connectTimeout); offer
        dropped
    B1: connected => connected | call answered+caller>connected; offer kept; A1<state(connected);
        B1<state(connected)

    ## calleeConnected
    A1: hangup => ended(hangup) | call answered+callee>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    A1: iceFailed => ended(iceFailed) | call answered+callee>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,A1,own); B1<ended(iceFailed,A1)
    A1: mediaFailed => ended(mediaFailed) | call answered+callee>ended(mediaFailed); B1 answered>ended(mediaFailed);
        offer dropped; A1<ended(mediaFailed,A1,own); B1<ended(mediaFailed,A1)
    A1: close => done | call answered+callee>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; A1 closed normal; B1<ended(connectionLost,A1)
    A1: logout => done | call answered+callee>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    B1: connected => answered
    B1: hangup => ended(hangup) | call answered+callee>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,B1); B1<ended(hangup,B1,own)
    B1: iceFailed => ended(iceFailed) | call answered+callee>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,B1); B1<ended(iceFailed,B1,own)
    B1: mediaFailed => ended(mediaFailed) | call answered+callee>ended(mediaFailed); B1 answered>ended(mediaFailed);
        offer dropped; A1<ended(mediaFailed,B1); B1<ended(mediaFailed,B1,own)
    B1: close => done | call answered+callee>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; A1<ended(connectionLost,B1); B1 closed normal
    B1: logout => done | call answered+callee>ended(connectionLost); B1 answered>ended(connectionLost); offer
        dropped; device:B1 tokens 1>0; A1<ended(connectionLost,B1); B1 closed loggedOut
    all: after20s after30s after45s after5min => - | call answered+callee>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped; A1<ended(connectTimeout); B1<ended(connectTimeout)
    all: restartAndAway => - | call answered+callee>ended(connectTimeout); B1 answered>ended(connectTimeout); offer
        dropped
    A1: connected => connected | call answered+callee>connected; offer kept; A1<state(connected);
        B1<state(connected)

    ## wokenAnswered
    B1: invites logout noTokens newToken list clearMissed => forbidden(wake)
    all: after15s => -
    B1: reported => answered | push:B1 accepted/acted>accepted/reported
    B1: notRequired => answered | push:B1 accepted/acted>accepted/notRequired
    B1: filtered => answered | push:B1 accepted/acted>accepted/filtered
    B1: failed => answered | push:B1 accepted/acted>accepted/reportFailed
    http:bob http:bobOnB1 http:wakeB1: reported => answered | push:B1 accepted/acted>accepted/reported
    all: after20s after30s after45s after5min => - | call answered>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped; A1<ended(connectTimeout); B1<ended(connectTimeout)
    all: restartAndAway => - | call answered>ended(connectTimeout); B1 answered>ended(connectTimeout); offer dropped

    ## answeredRestarted
    all: after20s after30s after45s after5min restartAndAway => - | call answered>ended(connectTimeout); B1
        answered>ended(connectTimeout); offer dropped

    ## connected, connectedCalleeLost
    A1: declines reports wrongPush ringing answer => forbidden
    A1: connected => connected
    A1: get => caller:connected
    A1: inviteAgain => invited(connected)
    A1: inviteOther => conflict
    A1: open => bad_state
    A1: foreground background clearMissed => done
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1: ack ackOfNothing => -

    ## connected, connectedCallerLost
    B1: open => bad_state
    B1: foreground background clearMissed => done
    B1: ack ackOfNothing => -
    B1: reports ringing connected => connected
    B1: invites wrongPush => forbidden
    B1: answer => won
    B1: declines => bad_state(connected)
    B1: get => callee:connected
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1

    ## connected
    A1: update => done | B1<update | again: B1<update
    A1: candidates => - | B1<candidates(1) | again: B1<candidates(1)
    B1: update => done | A1<update | again: A1<update
    B1: candidates => - | A1<candidates(1) | again: A1<candidates(1)
    all: after30s after45s after5min => -
    A1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    A1: iceFailed => ended(iceFailed) | call connected>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,A1,own); B1<ended(iceFailed,A1)
    A1: mediaFailed => ended(mediaFailed) | call connected>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; A1<ended(mediaFailed,A1,own); B1<ended(mediaFailed,A1)
    A1: close => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; A1
        closed normal; B1<ended(connectionLost,A1)
    A1: logout => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:A1 tokens 1>0; A1 closed loggedOut; B1<ended(connectionLost,A1)
    B1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,B1); B1<ended(hangup,B1,own)
    B1: iceFailed => ended(iceFailed) | call connected>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,B1); B1<ended(iceFailed,B1,own)
    B1: mediaFailed => ended(mediaFailed) | call connected>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; A1<ended(mediaFailed,B1); B1<ended(mediaFailed,B1,own)
    B1: close => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        A1<ended(connectionLost,B1); B1 closed normal
    B1: logout => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:B1 tokens 1>0; A1<ended(connectionLost,B1); B1 closed loggedOut

    ## connectedCallerLost
    B1: candidates => -
    B1: update => done
    B1: lost => -
    B1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup); offer dropped;
        B1<ended(hangup,B1,own)
    B1: iceFailed => ended(iceFailed) | call connected>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; B1<ended(iceFailed,B1,own)
    B1: mediaFailed => ended(mediaFailed) | call connected>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; B1<ended(mediaFailed,B1,own)
    B1: close => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; B1
        closed normal
    B1: logout => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:B1 tokens 1>0; B1 closed loggedOut
    all: after30s after45s after5min => - | call connected>ended(connectionLost); B1 answered>ended(connectionLost);
        offer dropped; B1<ended(connectionLost,A1)

    ## connectedCalleeLost
    A1: update => done
    A1: candidates => -
    A1: lost => -
    A1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup); offer dropped;
        A1<ended(hangup,A1,own)
    A1: iceFailed => ended(iceFailed) | call connected>ended(iceFailed); B1 answered>ended(iceFailed); offer
        dropped; A1<ended(iceFailed,A1,own)
    A1: mediaFailed => ended(mediaFailed) | call connected>ended(mediaFailed); B1 answered>ended(mediaFailed); offer
        dropped; A1<ended(mediaFailed,A1,own)
    A1: close => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped; A1
        closed normal
    A1: logout => done | call connected>ended(connectionLost); B1 answered>ended(connectionLost); offer dropped;
        device:A1 tokens 1>0; A1 closed loggedOut
    all: after30s after45s after5min => - | call connected>ended(connectionLost); B1 answered>ended(connectionLost);
        offer dropped; A1<ended(connectionLost,B1)

    ## answered, callerConnected, calleeConnected, wokenAnswered, connected
    A1: lost => - | B1<peer(away)
    B1: lost => - | A1<peer(away)

    ## answered, callerConnected, calleeConnected, connected
    A1 A2 B1 B2: list => calls(1)

    ## wokenAnswered
    A1 A2: list => calls(1)

    ## connectedCallerLost
    A2 B1 B2: list => calls(1)

    ## connectedCalleeLost
    A1 A2 B2: list => calls(1)

    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted, connected, connectedCallerLost,
        connectedCalleeLost
    http:alice http:aliceOnA1: ringing answer declined => forbidden
    http:sam http:wakeXForAnother: ringing answer declined hangup => forbidden
    http:bob http:bobOnB1 http:wakeB1: answer => won
    http:wakeB2: answer => already_answered(B1)
    http:wakeB2: ringing declined hangup => ended(answeredElsewhere)

    ## answered, callerConnected, calleeConnected, wokenAnswered, answeredRestarted
    http:bob http:bobOnB1 http:wakeB1: ringing => answered
    http:bob http:bobOnB1 http:wakeB1: declined => bad_state(answered)

    ## connected, connectedCallerLost, connectedCalleeLost
    http:bob http:bobOnB1 http:wakeB1: ringing => connected
    http:bob http:bobOnB1 http:wakeB1: declined => bad_state(connected)

    ## answered, wokenAnswered
    http:alice http:aliceOnA1: hangup => ended(hangup) | call answered>ended(hangup); B1 answered>ended(hangup);
        offer dropped; A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call answered>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,B1); B1<ended(hangup,B1,own)

    ## callerConnected
    http:alice http:aliceOnA1: hangup => ended(hangup) | call answered+caller>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call answered+caller>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,B1); B1<ended(hangup,B1,own)

    ## calleeConnected
    http:alice http:aliceOnA1: hangup => ended(hangup) | call answered+callee>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call answered+callee>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,B1); B1<ended(hangup,B1,own)

    ## answeredRestarted
    http:alice http:aliceOnA1 http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call
        answered>ended(hangup); B1 answered>ended(hangup); offer dropped

    ## connected
    http:alice http:aliceOnA1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup);
        offer dropped; A1<ended(hangup,A1,own); B1<ended(hangup,A1)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call connected>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,B1); B1<ended(hangup,B1,own)

    ## connectedCallerLost
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call connected>ended(hangup); B1
        answered>ended(hangup); offer dropped; B1<ended(hangup,B1,own)
    http:alice http:aliceOnA1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup);
        offer dropped; B1<ended(hangup,A1)

    ## connectedCalleeLost
    http:alice http:aliceOnA1: hangup => ended(hangup) | call connected>ended(hangup); B1 answered>ended(hangup);
        offer dropped; A1<ended(hangup,A1,own)
    http:bob http:bobOnB1 http:wakeB1: hangup => ended(hangup) | call connected>ended(hangup); B1
        answered>ended(hangup); offer dropped; A1<ended(hangup,B1)
    """
