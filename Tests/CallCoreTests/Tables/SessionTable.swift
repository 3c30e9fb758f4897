/// Every situation of a session. A session stands as `attached acknowledged/sent`. See ``BehaviourTable``.
let sessionTable = """
    ## none, windowOver, closed, loggedOut, restarted, attached, acked, partlyAcked, resumed, background, wake,
        replaced, overflowed, overflowedAcked, detached, detachedAcked, detachedPartlyAcked, detachedWake,
        overflowedDetached
    bob: commandUnopened => unauthenticated
    bob: notifyUnopened lostUnopened => -

    ## attached, acked, partlyAcked, resumed, background, wake, replaced, overflowed, overflowedAcked
    bob: ackNothing ackFuture => -
    bob: openAgain => bad_state
    bob: command => won | call ringing>call answered; leg ringing>leg answered

    ## windowOver, closed
    bob: open resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck resumeOther
        openWithTokens => new(calls 1, missed 0) | no session>attached 0/1; push intended>push cancelled;
        <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: wake resumeOtherScope => new(calls 1, missed 0) | no session>attached wake 0/1; away false>away true; push
        intended>push cancelled; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | no session>attached 0/1; tokens 1>tokens 0; push
        intended>push cancelled; <incoming+2

    ## none, loggedOut
    bob: wake resumeOtherScope => forbidden

    ## none
    bob: open openWithoutTokens resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 0, missed 0) | no session>attached 0/0
    bob: openWithTokens => new(calls 0, missed 0) | no session>attached 0/0; tokens 0>tokens 1
    bob: resumeFromOtherDevice => new(calls 0, missed 0)
    bob: window => -

    ## windowOver
    bob: window => - | call ringing>call ended; leg ringing>leg ended; push intended>push expired

    ## closed
    bob: window => -

    ## loggedOut
    bob: openWithoutTokens => new(calls 0, missed 1) | no session>attached 0/0
    bob: openWithTokens => new(calls 0, missed 1) | no session>attached 0/0; tokens 0>tokens 1
    bob: window => -
    bob: open resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck resumeOther =>
        new(calls 0, missed 1) | no session>attached 0/0
    bob: resumeFromOtherDevice => new(calls 0, missed 1)

    ## restarted
    bob: open openWithTokens resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | no session>attached 0/1; away true>away false; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | no session>attached 0/1; tokens 1>tokens 0; away true>away
        false; <incoming+2
    bob: wake resumeOtherScope => new(calls 1, missed 0) | no session>attached wake 0/1; <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => - | away true>away false; call ringing>call ended; leg ringing>leg ended; push ->push cancelled

    ## attached, acked, partlyAcked, resumed, background, replaced, overflowed, overflowedAcked
    bob: wake resumeOtherScope => conflict
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => -
    bob: tokens => done
    bob: noTokens => done | tokens 1>tokens 0

    ## acked, resumed, overflowedAcked
    bob: open openWithTokens resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | attached 3/3>attached 0/1; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached 3/3>attached 0/1; tokens 1>tokens 0; <incoming+2;
        closed replaced
    bob: resume => resumed(calls 1, missed 0) | closed replaced
    bob: ackAll => -
    bob: background => done | attached 3/3>attached background 3/3
    bob: logout => done | attached 3/3>no session; tokens 1>tokens 0; call ringing>call ended; leg ringing>leg
        ended; closed loggedOut
    bob: lost => - | attached 3/3>detached timed 3/3
    bob: close => done | attached 3/3>no session; push ->push intended; closed normal

    ## attached
    bob: open openWithTokens resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) |
        attached 0/3>attached 0/1; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached 0/3>attached 0/1; tokens 1>tokens 0; <incoming+2;
        closed replaced
    bob: resume => resumed(calls 1, missed 0) | attached 0/3>attached 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | attached 0/3>attached 1/3; <candidates; <candidates; closed
        replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: ackAll => - | attached 0/3>attached 3/3
    bob: ackSome => - | attached 0/3>attached 1/3
    bob: foreground => done
    bob: background => done | attached 0/3>attached background 0/3
    bob: logout => done | attached 0/3>no session; tokens 1>tokens 0; call ringing>call ended; leg ringing>leg
        ended; closed loggedOut
    bob: lost => - | attached 0/3>detached timed 0/3
    bob: close => done | attached 0/3>no session; push ->push intended; closed normal

    ## acked
    bob: ackSome => -
    bob: foreground => done

    ## partlyAcked
    bob: open openWithTokens resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | attached 2/3>attached 0/1; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached 2/3>attached 0/1; tokens 1>tokens 0; <incoming+2;
        closed replaced
    bob: resume => resumed(calls 1, missed 0) | attached 2/3>attached 3/3; closed replaced
    bob: ackSome => -
    bob: ackAll => - | attached 2/3>attached 3/3
    bob: foreground => done
    bob: background => done | attached 2/3>attached background 2/3
    bob: logout => done | attached 2/3>no session; tokens 1>tokens 0; call ringing>call ended; leg ringing>leg
        ended; closed loggedOut
    bob: lost => - | attached 2/3>detached timed 2/3
    bob: close => done | attached 2/3>no session; push ->push intended; closed normal

    ## resumed
    bob: ackSome => -
    bob: foreground => done

    ## background
    bob: open openWithTokens resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) |
        attached background 0/3>attached 0/1; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached background 0/3>attached 0/1; tokens 1>tokens 0;
        <incoming+2; closed replaced
    bob: resume => resumed(calls 1, missed 0) | attached background 0/3>attached background 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | attached background 0/3>attached background 1/3;
        <candidates; <candidates; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: ackAll => - | attached background 0/3>attached background 3/3
    bob: ackSome => - | attached background 0/3>attached background 1/3
    bob: foreground => done | attached background 0/3>attached 0/3
    bob: background => done
    bob: logout => done | attached background 0/3>no session; tokens 1>tokens 0; call ringing>call ended; leg
        ringing>leg ended; closed loggedOut
    bob: lost => - | attached background 0/3>detached background timed 0/3
    bob: close => done | attached background 0/3>no session; push ->push intended; closed normal

    ## wake
    bob: open openWithTokens resumeOtherScope => new(calls 1, missed 0) | attached wake 0/3>attached 0/1; away
        true>away false; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached wake 0/3>attached 0/1; tokens 1>tokens 0; away
        true>away false; <incoming+2; closed replaced
    bob: wake resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) | attached wake
        0/3>attached wake 0/1; <incoming+2; closed replaced
    bob: resume => resumed(calls 1, missed 0) | attached wake 0/3>attached wake 3/3; closed replaced
    bob: resumeFromStart => resumed(calls 1, missed 0) | attached wake 0/3>attached wake 1/3; <candidates;
        <candidates; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+0; <candidates; <candidates; closed replaced
    bob: resumeFromOtherDevice logout tokens noTokens => forbidden
    bob: ackAll => - | attached wake 0/3>attached wake 3/3
    bob: ackSome => - | attached wake 0/3>attached wake 1/3
    bob: foreground => done
    bob: background => done | attached wake 0/3>attached wake background 0/3
    bob: close => done | attached wake 0/3>no session; closed normal
    bob: lost => - | attached wake 0/3>detached wake timed 0/3
    bob: window => - | away true>away false

    ## replaced
    bob: open openWithTokens resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) |
        <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | tokens 1>tokens 0; <incoming+2; closed replaced
    bob: resume resumeFromStart => resumed(calls 1, missed 0) | attached 0/1>attached 1/1; closed replaced
    bob: resumeBelowAck => resumed(calls 1, missed 0) | <incoming+2; closed replaced
    bob: ackAll ackSome => - | attached 0/1>attached 1/1
    bob: foreground => done
    bob: background => done | attached 0/1>attached background 0/1
    bob: logout => done | attached 0/1>no session; tokens 1>tokens 0; call ringing>call ended; leg ringing>leg
        ended; closed loggedOut
    bob: lost => - | attached 0/1>detached timed 0/1
    bob: close => done | attached 0/1>no session; push ->push intended; closed normal

    ## overflowed
    bob: open openWithTokens resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | attached overflowed 0/3>attached 0/1; <incoming+2; closed replaced
    bob: openWithoutTokens => new(calls 1, missed 0) | attached overflowed 0/3>attached 0/1; tokens 1>tokens 0;
        <incoming+2; closed replaced
    bob: ackAll => - | attached overflowed 0/3>attached 3/3
    bob: ackSome => - | attached overflowed 0/3>attached overflowed 1/3
    bob: foreground => done
    bob: background => done | attached overflowed 0/3>attached background overflowed 0/3
    bob: logout => done | attached overflowed 0/3>no session; tokens 1>tokens 0; call ringing>call ended; leg
        ringing>leg ended; closed loggedOut
    bob: lost => - | attached overflowed 0/3>detached timed overflowed 0/3
    bob: close => done | attached overflowed 0/3>no session; push ->push intended; closed normal

    ## overflowedAcked
    bob: ackSome => -
    bob: foreground => done

    ## detached
    bob: open openWithTokens resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) |
        detached timed 0/3>attached 0/1; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | detached timed 0/3>attached 0/1; tokens 1>tokens 0;
        <incoming+2
    bob: wake resumeOtherScope => new(calls 1, missed 0) | detached timed 0/3>attached wake 0/1; away false>away
        true; <incoming+2
    bob: resume => resumed(calls 1, missed 0) | detached timed 0/3>attached 3/3
    bob: resumeFromStart => resumed(calls 1, missed 0) | detached timed 0/3>attached 1/3; <candidates; <candidates
    bob: resumeBelowAck => resumed(calls 1, missed 0) | detached timed 0/3>attached 0/3; <incoming+0; <candidates;
        <candidates
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => - | detached timed 0/3>no session; push ->push intended

    ## detachedAcked
    bob: open openWithTokens resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | detached timed 3/3>attached 0/1; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | detached timed 3/3>attached 0/1; tokens 1>tokens 0;
        <incoming+2
    bob: wake resumeOtherScope => new(calls 1, missed 0) | detached timed 3/3>attached wake 0/1; away false>away
        true; <incoming+2
    bob: resume => resumed(calls 1, missed 0) | detached timed 3/3>attached 3/3
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => - | detached timed 3/3>no session; push ->push intended

    ## detachedPartlyAcked
    bob: open openWithTokens resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | detached timed 2/3>attached 0/1; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | detached timed 2/3>attached 0/1; tokens 1>tokens 0;
        <incoming+2
    bob: wake resumeOtherScope => new(calls 1, missed 0) | detached timed 2/3>attached wake 0/1; away false>away
        true; <incoming+2
    bob: resume => resumed(calls 1, missed 0) | detached timed 2/3>attached 3/3
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => - | detached timed 2/3>no session; push ->push intended

    ## detachedWake
    bob: open openWithTokens resumeOtherScope => new(calls 1, missed 0) | detached wake timed 0/3>attached 0/1; away
        true>away false; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | detached wake timed 0/3>attached 0/1; tokens 1>tokens 0; away
        true>away false; <incoming+2
    bob: wake resumeStaleToken resumeUsedToken resumeFuture resumeOther => new(calls 1, missed 0) | detached wake
        timed 0/3>attached wake 0/1; <incoming+2
    bob: resume => resumed(calls 1, missed 0) | detached wake timed 0/3>attached wake 3/3
    bob: resumeFromStart => resumed(calls 1, missed 0) | detached wake timed 0/3>attached wake 1/3; <candidates;
        <candidates
    bob: resumeBelowAck => resumed(calls 1, missed 0) | detached wake timed 0/3>attached wake 0/3; <incoming+0;
        <candidates; <candidates
    bob: resumeFromOtherDevice => forbidden
    bob: window => - | detached wake timed 0/3>no session; away true>away false

    ## overflowedDetached
    bob: open openWithTokens resume resumeFromStart resumeStaleToken resumeUsedToken resumeFuture resumeBelowAck
        resumeOther => new(calls 1, missed 0) | detached timed overflowed 0/3>attached 0/1; <incoming+2
    bob: openWithoutTokens => new(calls 1, missed 0) | detached timed overflowed 0/3>attached 0/1; tokens 1>tokens
        0; <incoming+2
    bob: wake resumeOtherScope => new(calls 1, missed 0) | detached timed overflowed 0/3>attached wake 0/1; away
        false>away true; <incoming+2
    bob: resumeFromOtherDevice => new(calls 1, missed 0)
    bob: window => - | detached timed overflowed 0/3>no session; push ->push intended

    ## none, windowOver, closed, loggedOut, attached, acked, partlyAcked, resumed, background, wake, replaced,
        overflowed, overflowedAcked, detachedWake
    bob: pause => -

    ## restarted, detached, detachedAcked, detachedPartlyAcked, overflowedDetached
    bob: pause => - | push ->push intended
    """
