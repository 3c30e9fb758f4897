import CallVocabulary

enum Samples {
    static let call = CallID(high: 0x6BA7_B810_9DAD_41D1, low: 0x80B4_00C0_4FD4_30C8)
    static let callText = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
}
