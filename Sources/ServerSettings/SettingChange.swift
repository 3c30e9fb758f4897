import Logging

/// A setting whose value, or whose file's content, has changed.
struct SettingChange {
    let setting: Setting
    let isReloadable: Bool
    let metadata: Logger.Metadata

    /// In the order of the reference file.
    static func all(from old: LoadedSettings, to new: LoadedSettings) -> [SettingChange] {
        // A listener that began without TLS cannot be asked for it, nor the other way round.
        let keepsTLS = old.settings.isSet(.tlsCertificate) == new.settings.isSet(.tlsCertificate)
        return Setting.all.filter { !$0.isForCommands }.compactMap { setting in
            let isReloadable = setting.isReloadable && (setting.part != .tls || keepsTLS)
            var metadata: Logger.Metadata = ["setting": .string("\(setting.key)")]
            if old.settings[setting].value != new.settings[setting].value {
                metadata["from"] = .string("\(old.settings.shown(setting))")
                metadata["to"] = .string("\(new.settings.shown(setting))")
            } else if old.fileMarks[setting.key] != new.fileMarks[setting.key], !isMade(setting, since: old, in: new) {
                metadata["file"] = .string("\(new.settings.shown(setting))")
            } else {
                return nil
            }
            return SettingChange(setting: setting, isReloadable: isReloadable, metadata: metadata)
        }
    }

    /// Whether a file that nobody names was not there before: the server makes it on its first start.
    static func isMade(_ setting: Setting, since old: LoadedSettings, in new: LoadedSettings) -> Bool {
        setting.key == Setting.tokenSecretFile.key && !new.settings.isSet(setting) && old.fileMarks[setting.key] == nil
            && new.fileMarks[setting.key] != nil
    }
}
