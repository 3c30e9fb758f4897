// What ReveilleCallKit uses of Apple's AVFAudio, written after Apple's public documentation: for type checks on Linux, and for
// GlueCheck, which drives the delegates. No simulation of iOS.

import Foundation

public final class AVAudioSession: NSObject {}
