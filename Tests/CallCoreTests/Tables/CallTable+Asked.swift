/// A call that the authorization hook is asked about. See ``BehaviourTable`` for how to read it. After "allowed:" are the
/// changes when the hook then allows the call, if they differ from those without the input. `A1=` is the answer to a
/// request that waited.
let callTableAsked = """
    ## asked, askedCallerBack, askedAgain, askedOpenly, askedSwitchedOff, askedAsleep, askedCallerLost
    A2 C1: open => bad_state
    A2 C1: foreground background clearMissed => done
    A2 C1: list => calls(0)
    A2 X: hangups declines reports wrongPush ringing answer connected update get => forbidden
    A2: invites => conflict
    A2: close => done | A2 closed normal
    A2: logout => done | device:A2 tokens 1>0; A2 closed loggedOut
    A2: noTokens => done | device:A2 tokens 1>0
    A2: newToken => done | device:A2 tokens 1>1
    A2 C1: ack ackOfNothing candidates lost => -
    C1 S: invites hangups declines reports wrongPush ringing answer connected update get => forbidden
    C1: close => done | C1 closed normal
    C1: logout => done | device:C1 tokens 1>0; C1 closed loggedOut
    C1: noTokens => done | device:C1 tokens 1>0
    C1: newToken => done | device:C1 tokens 1>1
    S X: candidates => -
    X: invites => forbidden(wake)
    http:alice http:aliceOnA1 http:bob http:bobOnB1 http:wakeB1 http:wakeB2 http:sam http:wakeXForAnother: get
        reported ringing answer declined hangup => forbidden
    all: restart restartAndAway => - | none waits
    all: noCallWaiting declinePolicy => - | users
    all: groupGone alias found notFound searchFailed => -
    all: groupChanged => - | groups
    meanwhile: switchedOff => -

    ## asked, askedCallerBack, askedAgain, askedOpenly, askedSwitchedOff, askedAsleep
    A1: inviteOther => conflict
    A1: open => bad_state
    A1: foreground background clearMissed => done
    A1: close => done | A1 closed normal | allowed: none waits
    A1: logout => done | device:A1 tokens 1>0; A1 closed loggedOut | allowed: none waits
    A1: noTokens => done | device:A1 tokens 1>0
    A1: newToken => done | device:A1 tokens 1>1
    A1: list => calls(0)
    A1: ack ackOfNothing => -
    A1: lost => - | allowed: none waits
    meanwhile: callerDeleted => - | A1 closed loggedOut | allowed: none waits
    meanwhile: callerRevoked => - | device:A1 tokens 1>0; device:A2 tokens 1>0; A1 closed badToken; A2 closed
        badToken | allowed: none waits
    meanwhile: callerDropped => - | A1 closed dropped | allowed: none waits

    ## asked, askedCallerBack, askedAgain, askedOpenly, askedSwitchedOff, askedCallerLost
    B1 B2: open => bad_state
    B1 B2: list => calls(0)
    B1 B2: invites hangups declines reports wrongPush ringing answer connected update get => forbidden
    B1: foreground clearMissed => done
    B1: noTokens => done | device:B1 tokens 1>0
    B1: newToken => done | device:B1 tokens 1>1
    B1 B2: ack ackOfNothing candidates => -
    B2: foreground noTokens clearMissed => done
    B2: newToken => done | device:B2 tokens 0>1

    ## asked, askedCallerBack, askedAgain, askedOpenly, askedAsleep
    meanwhile: otherInvite => - | another call; A1=invited(routing); asked

    ## asked, askedCallerBack, askedOpenly, askedSwitchedOff, askedAsleep
    A1: hangup => ended(cancelled) | A1=call_ended(cancelled); none waits
    A1: iceFailed mediaFailed => ended(I) | A1=call_ended(I); none waits
    all: doNotDisturb => - | users | allowed: S>ended(declined); missed 0>1; A1<ended(declined);
        A1=invited(ended,declined); none waits
    all: draining => - | A1=draining; none waits
    hook: allowedForCarol => - | S>routing; C1 ->offered*; offer kept; A1=invited(routing); C1<incoming; none waits
    hook: refused => - | A1=forbidden(hook); none waits
    meanwhile: callerDeletedAndBack => - | A1 closed loggedOut; waiting +1

    ## asked, askedCallerBack, askedOpenly, askedSwitchedOff
    A1: declines reports wrongPush ringing answer => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1
        ->offered*; B2 ->offered*; offer kept; A1=invited(routing); A1=forbidden; A1=forbidden; B1<incoming;
        B2<incoming; none waits
    A1: connected update => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2
        ->offered*; offer kept; A1=invited(routing); A1=bad_state(routing); A1=bad_state(routing); B1<incoming;
        B2<incoming; none waits
    A1: get => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*; offer
        kept; A1=invited(routing); A1=caller:routing,expires; A1=caller:routing,expires; B1<incoming; B2<incoming;
        none waits
    A1: inviteAgain => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*;
        offer kept; A1=invited(routing); A1=invited(routing); A1=invited(routing); B1<incoming; B2<incoming; none
        waits
    A1: candidates => - | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*; offer
        kept; candidates kept; A1=invited(routing); B1<incoming; B1<candidates(1); B2<incoming; B2<candidates(1);
        none waits
    B1: background => done | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended; wire:B1 ->waiting;
        offer kept; A1=invited(waking); B1<incoming; B2<incoming; none waits
    B1: close => done | B1 closed normal | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended;
        wire:B1 ->waiting; offer kept; A1=invited(waking); B2<incoming; none waits
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut | allowed: S>routing; B2 ->offered*; offer kept;
        A1=invited(routing); B2<incoming; none waits
    B1: lost => - | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended; wire:B1 ->waiting; offer
        kept; A1=invited(waking); B2<incoming; none waits
    B2: background => done | allowed: S>routing; B1 ->offered*; B2 ->offered; offer kept; A1=invited(routing);
        B1<incoming; B2<incoming; none waits
    B2: close => done | B2 closed normal | allowed: S>routing; B1 ->offered*; offer kept; A1=invited(routing);
        B1<incoming; none waits
    B2: logout => done | B2 closed loggedOut | allowed: S>routing; B1 ->offered*; offer kept; A1=invited(routing);
        B1<incoming; none waits
    B2: lost => - | allowed: S>routing; B1 ->offered*; B2 ->offered; offer kept; A1=invited(routing); B1<incoming;
        none waits
    all: tightened => - | allowed: S>routing; B1 ->offered*; offer kept; A1=invited(routing); B1<incoming; none
        waits
    hook: allowed => - | S>routing; B1 ->offered*; B2 ->offered*; offer kept; A1=invited(routing); B1<incoming;
        B2<incoming; none waits
    meanwhile: calleeComes => - | device:B3 tokens 0>1 streak 0 | allowed: S>routing; B1 ->offered*; B2 ->offered*;
        B3 ->offered*; offer kept; A1=invited(routing); B1<incoming; B2<incoming; B3<incoming; none waits
    meanwhile: calleeDeleted => - | B1 closed loggedOut | allowed: S>routing; B2 ->offered*; offer kept;
        A1=invited(routing); B2<incoming; none waits
    meanwhile: calleeRevoked => - | device:B1 tokens 1>0; B1 closed badToken; B2 closed badToken | allowed:
        S>ended(noDevices); missed 0>1; A1<ended(noDevices); A1=invited(ended,noDevices); none waits

    ## asked, askedCallerBack, askedOpenly, askedAsleep
    meanwhile: calleeInvitesFirst => - | another call; B1=invited(routing); asked | allowed: S>ended(glare);
        A1<ended(glare); A1=invited(ended,glare); none waits

    ## asked, askedCallerBack, askedOpenly
    meanwhile: calleeInvites => - | another call; B1=invited(routing); asked | allowed: S>routing; B1 ->offered*; B2
        ->offered*; offer kept; another call; A1=invited(routing); B1<incoming; B2<incoming; none waits

    ## asked, askedCallerBack, askedAsleep
    all: after2s after15s after20s after30s after45s after5min => - | A1=overloaded; none waits
    hook: failed unanswered => - | A1=overloaded; none waits

    ## askedOpenly, askedSwitchedOff
    all: after2s => - | S>routing; B1 ->offered*; B2 ->offered*; offer kept; A1=invited(routing); B1<incoming;
        B2<incoming; none waits
    all: after15s after20s after30s after45s => - | S>waking; B1 ->waking; B2 ->offered; push:B1 ->intended; wire:B1
        ->waiting; offer kept; A1<state(waking); A1=invited(routing); B1<incoming; B2<incoming; none waits
    all: after5min => - | S>ended(ringTimeout); B1 ->ended(ringTimeout); B2 ->ended(ringTimeout); push:B1 ->expired;
        missed 0>1; A1<state(waking); A1<ended(ringTimeout); A1=invited(routing); B1<incoming;
        B1<ended(ringTimeout); B2<incoming; B2<ended(ringTimeout); none waits
    hook: failed unanswered => - | S>routing; B1 ->offered*; B2 ->offered*; offer kept; A1=invited(routing);
        B1<incoming; B2<incoming; none waits

    ## askedAgain
    A1: declines reports wrongPush ringing answer => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1
        ->offered*; B2 ->offered*; offer kept; candidates kept; A1=invited(routing); A1=invited(routing);
        A1=caller:routing,expires; A1=forbidden; A1=forbidden; B1<incoming; B1<candidates(1); B2<incoming;
        B2<candidates(1); none waits
    A1: connected update => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2
        ->offered*; offer kept; candidates kept; A1=invited(routing); A1=invited(routing);
        A1=caller:routing,expires; A1=bad_state(routing); A1=bad_state(routing); B1<incoming; B1<candidates(1);
        B2<incoming; B2<candidates(1); none waits
    A1: hangup => ended(cancelled) | A1=call_ended(cancelled); A1=call_ended(cancelled); A1=call_ended(cancelled);
        none waits
    A1: iceFailed mediaFailed => ended(I) | A1=call_ended(I); A1=call_ended(I); A1=call_ended(I); none waits
    A1: get => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*; offer
        kept; candidates kept; A1=invited(routing); A1=invited(routing); A1=caller:routing,expires;
        A1=caller:routing,expires; A1=caller:routing,expires; B1<incoming; B1<candidates(1); B2<incoming;
        B2<candidates(1); none waits
    A1: inviteAgain => waits | waiting +1 | again: waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*;
        offer kept; candidates kept; A1=invited(routing); A1=invited(routing); A1=caller:routing,expires;
        A1=invited(routing); A1=invited(routing); B1<incoming; B1<candidates(1); B2<incoming; B2<candidates(1); none
        waits
    A1: candidates => - | waiting +1 | again: waiting +1
    B1: background => done | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended; wire:B1 ->waiting;
        offer kept; candidates kept; A1=invited(waking); A1=invited(waking); A1=caller:waking,expires; B1<incoming;
        B1<candidates(1); B2<incoming; B2<candidates(1); none waits
    B1: close => done | B1 closed normal | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended;
        wire:B1 ->waiting; offer kept; candidates kept; A1=invited(waking); A1=invited(waking);
        A1=caller:waking,expires; B2<incoming; B2<candidates(1); none waits
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut | allowed: S>routing; B2 ->offered*; offer kept;
        candidates kept; A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B2<incoming;
        B2<candidates(1); none waits
    B1: lost => - | allowed: S>waking; B1 ->waking; B2 ->offered*; push:B1 ->intended; wire:B1 ->waiting; offer
        kept; candidates kept; A1=invited(waking); A1=invited(waking); A1=caller:waking,expires; B2<incoming;
        B2<candidates(1); none waits
    B2: background => done | allowed: S>routing; B1 ->offered*; B2 ->offered; offer kept; candidates kept;
        A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1);
        B2<incoming; B2<candidates(1); none waits
    B2: close => done | B2 closed normal | allowed: S>routing; B1 ->offered*; offer kept; candidates kept;
        A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1); none
        waits
    B2: logout => done | B2 closed loggedOut | allowed: S>routing; B1 ->offered*; offer kept; candidates kept;
        A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1); none
        waits
    B2: lost => - | allowed: S>routing; B1 ->offered*; B2 ->offered; offer kept; candidates kept;
        A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1); none
        waits
    all: after2s after15s after20s after30s after45s after5min => - | A1=overloaded; A1=overloaded; A1=forbidden;
        none waits
    all: doNotDisturb => - | users | allowed: S>ended(declined); missed 0>1; A1<ended(declined);
        A1=invited(ended,declined); A1=invited(ended,declined); A1=caller:ended,declined; none waits
    all: draining => - | A1=draining; A1=draining; A1=forbidden; none waits
    all: tightened => - | allowed: S>routing; B1 ->offered*; offer kept; candidates kept; A1=invited(routing);
        A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1); none waits
    hook: allowed => - | S>routing; B1 ->offered*; B2 ->offered*; offer kept; candidates kept; A1=invited(routing);
        A1=invited(routing); A1=caller:routing,expires; B1<incoming; B1<candidates(1); B2<incoming;
        B2<candidates(1); none waits
    hook: allowedForCarol => - | S>routing; C1 ->offered*; offer kept; candidates kept; A1=invited(routing);
        A1=invited(routing); A1=caller:routing,expires; C1<incoming; C1<candidates(1); none waits
    hook: refused => - | A1=forbidden(hook); A1=forbidden(hook); A1=forbidden; none waits
    hook: failed unanswered => - | A1=overloaded; A1=overloaded; A1=forbidden; none waits
    meanwhile: calleeComes => - | device:B3 tokens 0>1 streak 0 | allowed: S>routing; B1 ->offered*; B2 ->offered*;
        B3 ->offered*; offer kept; candidates kept; A1=invited(routing); A1=invited(routing);
        A1=caller:routing,expires; B1<incoming; B1<candidates(1); B2<incoming; B2<candidates(1); B3<incoming;
        B3<candidates(1); none waits
    meanwhile: calleeDeleted => - | B1 closed loggedOut | allowed: S>routing; B2 ->offered*; offer kept; candidates
        kept; A1=invited(routing); A1=invited(routing); A1=caller:routing,expires; B2<incoming; B2<candidates(1);
        none waits
    meanwhile: calleeRevoked => - | device:B1 tokens 1>0; B1 closed badToken; B2 closed badToken | allowed:
        S>ended(noDevices); missed 0>1; A1<ended(noDevices); A1=invited(ended,noDevices);
        A1=invited(ended,noDevices); A1=caller:ended,noDevices; none waits
    meanwhile: callerDeletedAndBack => - | A1 closed loggedOut; waiting +1 | allowed: S>routing; B1 ->offered*; B2
        ->offered*; offer kept; A1=invited(routing); B1<incoming; B2<incoming; none waits
    meanwhile: calleeInvites => - | another call; B1=invited(routing); asked | allowed: S>routing; B1 ->offered*; B2
        ->offered*; offer kept; candidates kept; another call; A1=invited(routing); A1=invited(routing);
        A1=caller:routing,expires; B1<incoming; B1<candidates(1); B2<incoming; B2<candidates(1); none waits
    meanwhile: calleeInvitesFirst => - | another call; B1=invited(routing); asked | allowed: S>ended(glare);
        A1<ended(glare); A1=invited(ended,glare); A1=invited(ended,glare); A1=caller:ended,glare; none waits

    ## askedSwitchedOff
    meanwhile: otherInvite => - | another call
    meanwhile: calleeInvites => - | another call | allowed: S>routing; B1 ->offered*; B2 ->offered*; offer kept;
        another call; A1=invited(routing); B1<incoming; B2<incoming; none waits
    meanwhile: calleeInvitesFirst => - | another call | allowed: S>ended(glare); A1<ended(glare);
        A1=invited(ended,glare); none waits

    ## askedAsleep
    A1: declines reports wrongPush ringing answer => waits | waiting +1 | again: waiting +1 | allowed: S>waking; B1
        ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer
        kept; A1=invited(waking); A1=forbidden; A1=forbidden; none waits
    A1: connected update => waits | waiting +1 | again: waiting +1 | allowed: S>waking; B1 ->waking; B2 ->waking;
        push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept;
        A1=invited(waking); A1=bad_state(waking); A1=bad_state(waking); none waits
    A1: get => waits | waiting +1 | again: waiting +1 | allowed: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A1=caller:waking,expires; A1=caller:waking,expires; none waits
    A1: inviteAgain => waits | waiting +1 | again: waiting +1 | allowed: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking);
        A1=invited(waking); A1=invited(waking); none waits
    A1: candidates => - | waiting +1 | again: waiting +1 | allowed: S>waking; B1 ->waking; B2 ->waking; push:B1
        ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept; candidates kept;
        A1=invited(waking); none waits
    all: tightened => - | allowed: S>waking; B1 ->waking; push:B1 ->intended; wire:B1 ->waiting; offer kept;
        A1=invited(waking); none waits
    hook: allowed => - | S>waking; B1 ->waking; B2 ->waking; push:B1 ->intended; push:B2 ->intended; wire:B1
        ->waiting; wire:B2 ->waiting; offer kept; A1=invited(waking); none waits
    meanwhile: calleeComes => - | device:B3 tokens 0>1 streak 0 | allowed: S>waking; B1 ->waking; B2 ->waking; B3
        ->offered*; push:B1 ->intended; push:B2 ->intended; wire:B1 ->waiting; wire:B2 ->waiting; offer kept;
        A1=invited(waking); B3<incoming; none waits
    meanwhile: calleeDeleted => - | allowed: S>waking; B2 ->waking; push:B2 ->intended; wire:B2 ->waiting; offer
        kept; A1=invited(waking); none waits
    meanwhile: calleeRevoked => - | device:B1 tokens 1>0; device:B2 tokens 1>0 | allowed: S>ended(noDevices); missed
        0>1; A1<ended(noDevices); A1=invited(ended,noDevices); none waits
    meanwhile: calleeInvites => - | another call; B1=invited(routing); asked | allowed: S>waking; B1 ->offered*; B2
        ->waking; push:B2 ->intended; wire:B2 ->waiting; offer kept; another call; A1=invited(waking); B1<incoming;
        none waits

    ## askedCallerLost
    B1 B2: background => done
    B1: close => done | B1 closed normal
    B1: logout => done | device:B1 tokens 1>0; B1 closed loggedOut
    B1 B2: lost => -
    B2: close => done | B2 closed normal
    B2: logout => done | B2 closed loggedOut
    all: after2s after15s after20s after30s after45s after5min draining => - | none waits
    all: doNotDisturb => - | users
    all: tightened => -
    hook: allowed allowedForCarol refused failed unanswered => - | none waits
    meanwhile: calleeComes => - | device:B3 tokens 0>1 streak 0
    meanwhile: calleeDeleted => - | B1 closed loggedOut
    meanwhile: calleeRevoked => - | device:B1 tokens 1>0; B1 closed badToken; B2 closed badToken
    meanwhile: callerDeleted callerDropped otherInvite => -
    meanwhile: callerDeletedAndBack => - | waiting +1 | allowed: S>routing; B1 ->offered*; B2 ->offered*; offer
        kept; A1=invited(routing); B1<incoming; B2<incoming; none waits
    meanwhile: callerRevoked => - | device:A1 tokens 1>0; device:A2 tokens 1>0; A2 closed badToken
    meanwhile: calleeInvites calleeInvitesFirst => - | another call; B1=invited(waking); asked
    """
