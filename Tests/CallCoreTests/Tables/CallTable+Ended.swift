/// Calls that are over. See ``BehaviourTable`` for how to read it.
let callTableEnded = """
    ## cancelled, declined, busy, ringTimeout, noDevices, glare, wokenTooLate, connectTimeout, mediaFailed, hangup,
        connectionLost, forgotten, forgottenUnanswered
    A1 A2 B1: open => bad_state
    A1 A2: foreground clearMissed => done
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1 A2: ack ackOfNothing candidates => -
    B1: ack ackOfNothing candidates lost => -
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    B1: foreground background => done
    S X: candidates => -
    X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    X: invites => forbidden(wake)
    push:B1 push:B2: ready accepted deadToken rejected unknown returned unsent => -
    http:wakeXForAnother: get reported => forbidden
    all: groupGone alias found notFound searchFailed draining tightened => -
    all: doNotDisturb noCallWaiting declinePolicy => - | users
    all: groupChanged => - | groups

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, connectTimeout, mediaFailed, hangup,
        connectionLost, forgotten, forgottenUnanswered
    B2: open => bad_state
    B2: ack ackOfNothing candidates lost => -
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B2: foreground background noTokens => done
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    B2: newToken => done | device:B2 tokens 0>1

    ## cancelled, declined, busy, ringTimeout, noDevices, wokenTooLate, connectTimeout, mediaFailed, hangup,
        connectionLost, forgotten, forgottenUnanswered
    A1 A2: background => done
    A1: close => done | A1 closed normal
    A1: logout => done | device:A1 tokens 1>0; A1 closed loggedOut
    A1 A2: lost => -
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    B1: close => done | B1 closed normal
    all: after2s after15s after20s after30s after45s after5min restart restartAndAway => -
    A1 A2: list => calls(1)

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, wokenTooLate, connectTimeout, mediaFailed, hangup,
        connectionLost
    A1: declines reports wrongPush ringing answer => forbidden
    A1 B1: update => bad_state(ended)
    A2: invites => conflict
    A1: inviteOther => conflict
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden
    B1: hangups declines ringing connected => ended(R)
    B1: wrongPush => forbidden
    B1: answer => call_ended(R)
    B1 http:bob http:bobOnB1 http:wakeB1: get => callee:ended,R
    S: invites hangups declines reports wrongPush ringing answer connected update get => forbidden
    http:alice http:aliceOnA1: reported => forbidden
    http:sam: get reported => forbidden
    A1: hangups connected => ended(R)
    A1 A2 http:alice http:aliceOnA1: get => caller:ended,R
    A1: inviteAgain => invited(ended,R)

    ## cancelled, declined, busy, ringTimeout, noDevices, connectTimeout, mediaFailed, hangup, connectionLost,
        forgotten, forgottenUnanswered
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut
    B1 B2: list => calls(1)

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, connectTimeout, mediaFailed, hangup, connectionLost
    B2: update => bad_state(ended)
    B1: reports => ended(R)
    B1: invites => forbidden
    B2: invites wrongPush => forbidden
    http:bob http:bobOnB1 http:wakeB1: reported => ended(R)

    ## declined, glare, connectTimeout, mediaFailed, hangup, connectionLost, forgotten
    B1 B2: clearMissed => done

    ## cancelled, busy, ringTimeout, noDevices, glare
    B2: hangups declines reports ringing connected => ended(R)
    B2: answer => call_ended(R)
    B2 http:wakeB2: get => callee:ended,R
    http:wakeB2: reported => ended(R)

    ## cancelled, busy, ringTimeout, noDevices, forgottenUnanswered
    B1 B2: clearMissed => done | missed 1>0

    ## connectTimeout, mediaFailed, hangup, connectionLost
    B2: hangups declines reports ringing connected => ended(answeredElsewhere)
    B2: answer => call_ended(answeredElsewhere)
    B2 http:wakeB2: get => callee:ended,answeredElsewhere
    http:wakeB2: reported => ended(answeredElsewhere)

    ## forgotten, forgottenUnanswered
    A1: declines reports wrongPush ringing answer => forbidden | looked up
    A1 B1 B2: update => bad_state(ended) | looked up
    A2: invites => conflict | looked up
    A1: inviteOther => conflict | looked up
    A2: hangups declines reports wrongPush ringing answer connected update => forbidden | looked up
    B1: hangups declines reports ringing connected => ended(R) | looked up
    B1: invites wrongPush => forbidden | looked up
    B1: answer => call_ended(R) | looked up
    B1 http:bob http:bobOnB1 http:wakeB1: get => callee:ended,R | looked up
    S: invites hangups declines reports wrongPush ringing answer connected update get => forbidden | looked up |
        again: looked up
    http:alice http:aliceOnA1: reported => forbidden | looked up
    http:sam: get reported => forbidden | looked up | again: looked up
    A1: hangups connected => ended(R) | looked up
    A1 A2 http:alice http:aliceOnA1: get => caller:ended,R | looked up
    A1: inviteAgain => invited(ended,R) | looked up
    B2: invites wrongPush => forbidden | looked up
    http:bob http:bobOnB1 http:wakeB1: reported => ended(R) | looked up

    ## declined
    B2: hangups declines reports ringing connected => ended(declinedElsewhere)
    B2: answer => call_ended(declinedElsewhere)
    B2 http:wakeB2: get => callee:ended,declinedElsewhere
    http:wakeB2: reported => ended(declinedElsewhere)

    ## glare
    A1 A2: background => done | another call
    A1: close => done | another call; A1 closed normal
    A1: logout => done | device:A1 tokens 1>0; another call; A1 closed loggedOut
    A1 A2: lost => - | another call
    A2: close => done | another call; A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; another call; A2 closed loggedOut
    B1: close => done | missed 0>1; another call; B1 closed normal
    B1: logout => done | missed 0>1; device:B1 tokens 1>0; another call; B1 closed loggedOut
    all: after2s after15s after20s after30s => - | another call
    all: restart => -
    all: after45s after5min restartAndAway => - | missed 0>1; another call
    B1 A1 A2 B2: list => calls(2)

    ## wokenTooLate
    B1: invites clearMissed logout noTokens newToken list => forbidden(wake)
    B1: reported => ended(R) | push:B1 accepted/acted>accepted/reported
    B1: notRequired => ended(R) | push:B1 accepted/acted>accepted/notRequired
    B1: filtered => ended(R) | push:B1 accepted/acted>accepted/filtered
    B1: failed => ended(R) | push:B1 accepted/acted>accepted/reportFailed
    http:wakeB2: get => callee:ended,R
    http:bob http:bobOnB1 http:wakeB1: reported => ended(R) | push:B1 accepted/acted>accepted/reported
    http:wakeB2: reported => ended(R)

    ## forgotten
    B2: hangups declines reports ringing connected => ended(answeredElsewhere) | looked up
    B2: answer => call_ended(answeredElsewhere) | looked up
    B2 http:wakeB2: get => callee:ended,answeredElsewhere | looked up
    http:wakeB2: reported => ended(answeredElsewhere) | looked up

    ## forgottenUnanswered
    B2: hangups declines reports ringing connected => ended(R) | looked up
    B2: answer => call_ended(R) | looked up
    B2 http:wakeB2: get => callee:ended,R | looked up
    http:wakeB2: reported => ended(R) | looked up

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, wokenTooLate, connectTimeout, mediaFailed, hangup,
        connectionLost, forgotten, forgottenUnanswered
    http:wakeXForAnother: ringing answer declined hangup => forbidden

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, wokenTooLate, connectTimeout, mediaFailed, hangup,
        connectionLost
    http:alice http:aliceOnA1: ringing answer declined => forbidden
    http:sam: ringing answer declined hangup => forbidden
    http:bobOnB1 http:wakeB1: answer => call_ended(R)
    http:alice http:aliceOnA1: hangup => ended(R)
    http:bobOnB1 http:wakeB1: ringing declined hangup => ended(R)

    ## cancelled, declined, busy, ringTimeout, noDevices, glare, wokenTooLate
    http:bob: ringing answer declined hangup => invalid_params

    ## cancelled, busy, ringTimeout, noDevices, glare, wokenTooLate
    http:wakeB2: answer => call_ended(R)
    http:wakeB2: ringing declined hangup => ended(R)

    ## connectTimeout, mediaFailed, hangup, connectionLost
    http:wakeB2: ringing declined hangup => ended(answeredElsewhere)
    http:bob: answer => call_ended(R)
    http:wakeB2: answer => call_ended(answeredElsewhere)
    http:bob: ringing declined hangup => ended(R)

    ## forgotten, forgottenUnanswered
    http:bobOnB1 http:wakeB1: answer => call_ended(R) | looked up
    http:alice http:aliceOnA1: ringing answer declined => forbidden | looked up
    http:alice http:aliceOnA1: hangup => ended(R) | looked up
    http:bobOnB1 http:wakeB1: ringing declined hangup => ended(R) | looked up
    http:sam: ringing answer declined hangup => forbidden | looked up | again: looked up

    ## declined
    http:wakeB2: answer => call_ended(declinedElsewhere)
    http:wakeB2: ringing declined hangup => ended(declinedElsewhere)

    ## forgotten
    http:bob: answer => call_ended(R) | looked up
    http:wakeB2: answer => call_ended(answeredElsewhere) | looked up
    http:bob: ringing declined hangup => ended(R) | looked up
    http:wakeB2: ringing declined hangup => ended(answeredElsewhere) | looked up

    ## forgottenUnanswered
    http:wakeB2: answer => call_ended(R) | looked up
    http:bob: ringing answer declined hangup => invalid_params | looked up
    http:wakeB2: ringing declined hangup => ended(R) | looked up
    """
