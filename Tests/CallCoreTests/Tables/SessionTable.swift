/// Every situation of a session. A session stands as `attached acknowledged/sent`. See ``BehaviourTable``.
let sessionTable = """
    ## none, windowOver, closed, loggedOut, restarted, attached, acked, partlyAcked, resumed, background, wake,
        replaced, overflowed, overflowedAcked, detached, detachedAcked, detachedPartlyAcked, detachedWake,
        overflowedDetached
    bob: commandUnopened => unauthenticated
    bob: notifyUnopened lostUnopened => -

    ## none, closed, loggedOut, attached, acked, partlyAcked, resumed, background, replaced, overflowed,
        overflowedAcked
    bob: window pause => -

    ## attached, acked, partlyAcked, resumed, background, replaced, overflowed, overflowedAcked
    bob: ackNothing ackFuture => -
    bob: openAgain => bad_state
    bob: command => won | call ringing>call answered; leg ringing>leg answered
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: wake resumeOtherScope => conflict
    bob: tokens => done
    bob: noTokens => done | tokens 1>tokens 0
    bob: logout => done | S>no session; tokens 1>tokens 0; call ringing>call ended; leg ringing>leg ended; closed
        loggedOut
    bob: close => done | S>no session; push ->push intended; closed normal

    ## attached, acked, partlyAcked, resumed, wake, replaced, overflowed, overflowedAcked
    bob: foreground => done

    ## attached, acked, partlyAcked, resumed, background, overflowed, overflowedAcked
    bob: unservedResumes open openWithTokens => new(calls 1, missed 0) | S>attached 0/1; <incoming+2; closed
        replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; <incoming+2; closed
        replaced

    ## detached, detachedAcked, detachedPartlyAcked, overflowedDetached
    bob: unservedResumes open openWithTokens => new(calls 1, missed 0) | S>attached 0/1; <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: wake resumeOtherScope => new(calls 1, missed 0) | S>attached wake 0/1; away false>away true; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; <incoming+2
    bob: window => - | S>no session; push ->push intended
    bob: pause => - | push ->push intended

    ## acked, resumed, overflowedAcked
    bob: resume => resumed(calls 1, missed 0) | closed replaced
    bob: resumeFromStart resumeBelowAck => new(calls 1, missed 0) | S>attached 0/1; <incoming+2; closed replaced
    bob: ackAll ackSome => -
    bob: background => done | S>attached background 3/3
    bob: lost => - | S>detached timed 3/3

    ## detached, detachedAcked, detachedPartlyAcked
    bob: resume => resumed(calls 1, missed 0) | S>attached 3/3

    ## detachedAcked, detachedPartlyAcked, overflowedDetached
    bob: resumeFromStart resumeBelowAck => new(calls 1, missed 0) | S>attached 0/1; <incoming+2

    ## windowOver, closed
    bob: unservedResumes open resume resumeFromStart resumeBelowAck openWithTokens => new(calls 1, missed 0) |
        S>attached 0/1; push intended>push cancelled; <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: wake resumeOtherScope => new(calls 1, missed 0) | S>attached wake 0/1; away false>away true; push
        intended>push cancelled; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; push intended>push
        cancelled; <incoming+2

    ## none
    bob: unservedResumes open resume resumeFromStart resumeBelowAck openWithoutTokens => new(calls 0, missed 0) |
        S>attached 0/0
    bob: openWithTokens => new(calls 0, missed 0) | S>attached 0/0; tokens 0>tokens 1
    bob: resumeFromOtherDevice => new(calls 0, missed 0)
    bob: wake resumeOtherScope => forbidden

    ## windowOver
    bob: window => - | call ringing>call ended; leg ringing>leg ended; push intended>push expired
    bob: pause => -

    ## loggedOut
    bob: unservedResumes open resume resumeFromStart resumeBelowAck openWithoutTokens => new(calls 0, missed 1) |
        S>attached 0/0
    bob: openWithTokens => new(calls 0, missed 1) | S>attached 0/0; tokens 0>tokens 1
    bob: resumeFromOtherDevice => new(calls 0, missed 1)
    bob: wake resumeOtherScope => forbidden

    ## restarted
    bob: unservedResumes open resume resumeFromStart resumeBelowAck openWithTokens => new(calls 1, missed 0) |
        S>attached 0/1; away true>away false; <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: wake resumeOtherScope => new(calls 1, missed 0) | S>attached wake 0/1; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; away true>away false;
        <incoming+2
    bob: window => - | away true>away false; call ringing>call ended; leg ringing>leg ended; push ->push cancelled
    bob: pause => - | push ->push intended

    ## attached
    bob: resume => resumed(calls 1, missed 0) | S>attached 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | S>attached 1/3; <candidates; <candidates; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: ackAll => - | S>attached 3/3
    bob: background => done | S>attached background 0/3
    bob: lost => - | S>detached timed 0/3
    bob: ackSome => - | S>attached 1/3

    ## partlyAcked
    bob: resume => resumed(calls 1, missed 0) | S>attached 3/3; closed replaced
    bob: resumeFromStart resumeBelowAck => new(calls 1, missed 0) | S>attached 0/1; <incoming+2; closed replaced
    bob: ackAll => - | S>attached 3/3
    bob: background => done | S>attached background 2/3
    bob: lost => - | S>detached timed 2/3
    bob: ackSome => -

    ## background
    bob: resume => resumed(calls 1, missed 0) | S>attached background 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | S>attached background 1/3; <candidates; <candidates; closed
        replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: ackAll => - | S>attached background 3/3
    bob: background => done
    bob: lost => - | S>detached background timed 0/3
    bob: ackSome => - | S>attached background 1/3
    bob: foreground => done | S>attached 0/3

    ## wake
    bob: ackNothing ackFuture pause => -
    bob: openAgain => bad_state
    bob: command => won | call ringing>call answered; leg ringing>leg answered
    bob: open openWithTokens resumeOtherScope => new(calls 1, missed 0) | S>attached 0/1; away true>away false;
        <incoming+2; closed replaced
    bob: resume => resumed(calls 1, missed 0) | S>attached wake 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | S>attached wake 1/3; <candidates; <candidates; closed
        replaced
    bob: unservedResumes wake => new(calls 1, missed 0) | S>attached wake 0/1; <incoming+2; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: resumeFromOtherDevice tokens noTokens logout => forbidden
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; away true>away false;
        <incoming+2; closed replaced
    bob: window => - | away true>away false
    bob: ackAll => - | S>attached wake 3/3
    bob: background => done | S>attached wake background 0/3
    bob: lost => - | S>detached wake timed 0/3
    bob: close => done | S>no session; closed normal
    bob: ackSome => - | S>attached wake 1/3

    ## replaced
    bob: unservedResumes open openWithTokens => new(calls 1, missed 0) | <incoming+2; closed replaced
    bob: resume resumeFromStart => resumed(calls 1, missed 0) | S>attached 1/1; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | tokens 1>tokens 0; <incoming+2; closed replaced
    bob: ackAll ackSome => - | S>attached 1/1
    bob: background => done | S>attached background 0/1
    bob: lost => - | S>detached timed 0/1

    ## overflowed
    bob: resume resumeFromStart resumeBelowAck => new(calls 1, missed 0) | S>attached 0/1; <incoming+2; closed
        replaced
    bob: ackAll => - | S>attached 3/3
    bob: background => done | S>attached background overflowed 0/3
    bob: lost => - | S>detached timed overflowed 0/3
    bob: ackSome => - | S>attached overflowed 1/3

    ## detached
    bob: resumeFromStart => resumed(calls 1, missed 0) | S>attached 1/3; <candidates; <candidates
    bob: resumeBelowAck => resumed(calls 1, missed 0) | S>attached 0/3; <incoming+0; <candidates; <candidates

    ## detachedWake
    bob: open openWithTokens resumeOtherScope => new(calls 1, missed 0) | S>attached 0/1; away true>away false;
        <incoming+2
    bob: resume => resumed(calls 1, missed 0) | S>attached wake 3/3
    bob: resumeFromStart => resumed(calls 1, missed 0) | S>attached wake 1/3; <candidates; <candidates
    bob: unservedResumes wake => new(calls 1, missed 0) | S>attached wake 0/1; <incoming+2
    bob: resumeBelowAck => resumed(calls 1, missed 0) | S>attached wake 0/3; <incoming+0; <candidates; <candidates
    bob: resumeFromOtherDevice => forbidden
    bob: openWithoutTokens => new(calls 1, missed 0) | S>attached 0/1; tokens 1>tokens 0; away true>away false;
        <incoming+2
    bob: window => - | S>no session; away true>away false
    bob: pause => -

    ## overflowedDetached
    bob: resume => new(calls 1, missed 0) | S>attached 0/1; <incoming+2
    """
