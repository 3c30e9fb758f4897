// What ReveilleCallKit uses of Apple's AVFAudio, written after Apple's public documentation. For type checks on Linux
// only: nothing here runs.

import Foundation

public final class AVAudioSession: NSObject {}
