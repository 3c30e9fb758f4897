extension PayloadProfile {
    /// The profiles that need no configuration.
    public static let builtIn: [PayloadProfile] = [
        .reveille, .builtIn("callkit_incoming", callkitIncoming),
        .builtIn("callkeep_react_native", callkeepReactNative), .builtIn("callkeep_flutter", callkeepFlutter),
        .builtIn("connectycube", connectycube), .builtIn("linphone", linphone),
    ]

    /// The project's own payloads.
    public static let reveille = builtIn("reveille", reveilleParts, standard: nil)

    private static func builtIn(
        _ name: String, _ json: String, standard: PayloadProfile? = .reveille
    ) -> PayloadProfile {
        do {
            return try PayloadProfile(name: name, json: Array(json.utf8), standard: standard)
        } catch {
            // A test reads each of them.
            preconditionFailure("the profile \(name) is valid: \(error)")
        }
    }

    private static let reveilleParts = """
        {
          "voip": {
            "aps": {}, "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}", "name": "${name}",
            "to": "${to}", "has_video": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "alert": {
            "aps": {
              "alert": {"title": "${display_name}", "body": "${alert_text}"}, "sound": "default", "mutable-content": 1,
              "interruption-level": "time-sensitive"
            },
            "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}", "name": "${name}",
            "to": "${to}", "has_video": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "missed_call": {
            "aps": {
              "alert": {"title": "${display_name}", "body": "${alert_text}"}, "sound": "default", "badge": "${missed}",
              "mutable-content": 1
            },
            "type": "${type}", "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}",
            "name": "${name}", "missed": "${missed}"
          },
          "background": {"aps": {"content-available": 1}, "type": "${type}", "missed": "${missed}"},
          "data": {
            "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}", "name": "${name}",
            "to": "${to}", "has_video": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "data_missed_call": {
            "type": "${type}", "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}",
            "name": "${name}", "missed": "${missed}"
          },
          "data_sync": {"type": "${type}", "missed": "${missed}"},
          "web": {
            "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}", "name": "${name}",
            "to": "${to}", "has_video": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "web_missed_call": {
            "type": "${type}", "uuid": "${call_id}", "handle": "${handle}", "handle_type": "${handle_type}",
            "name": "${name}", "missed": "${missed}"
          }
        }
        """

    /// flutter_callkit_incoming 3.1.5. Its sample reads `id`, `nameCaller`, `handle` and `isVideo`; its `Data(args:)`
    /// reads `type`, `duration`, `extra` and `normalHandle` as well, and passes `extra` on to Dart. Without
    /// `normalHandle` the call's handle in CallKit would contain `extra`, and with it the wake token.
    private static let callkitIncoming = """
        {
          "voip": {
            "aps": {}, "id": "${call_id}", "nameCaller": "${display_name}", "handle": "${handle}",
            "isVideo": "${has_video}", "type": "${has_video:number}", "duration": "${expires_in_ms}",
            "normalHandle": 1, "extra": {"push_id": "${push_id}", "wake_token": "${wake_token}"},
            "push_id": "${push_id}", "expires_at": "${expires_at}", "expires_in": "${expires_in}",
            "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "data": {
            "id": "${call_id}", "nameCaller": "${display_name}", "handle": "${handle}", "isVideo": "${has_video}",
            "type": "${has_video:number}", "duration": "${expires_in_ms}",
            "extra": {"push_id": "${push_id}", "wake_token": "${wake_token}"},
            "push_id": "${push_id}", "expires_at": "${expires_at}", "expires_in": "${expires_in}",
            "wake_token": "${wake_token}", "custom": "${custom}"
          }
        }
        """

    /// react-native-voip-push-notification 3.3 with react-native-callkeep 4.3, by the sample of the first. The plugins
    /// fix no names for Android; these are those of the sample, and callkeep's names of its arguments.
    private static let callkeepReactNative = """
        {
          "voip": {
            "aps": {}, "uuid": "${call_id}", "callerName": "${display_name}", "handle": "${handle}",
            "hasVideo": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          },
          "data": {
            "uuid": "${call_id}", "callUUID": "${call_id}", "callerName": "${display_name}", "handle": "${handle}",
            "hasVideo": "${has_video}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}", "custom": "${custom}"
          }
        }
        """

    /// flutter-webrtc's callkeep 0.4, which reports nothing when there is an `aps`. Its example reads flat data on
    /// Android, its README a JSON text `content`.
    private static let callkeepFlutter = """
        {
          "voip": {
            "uuid": "${call_id}", "caller_id": "${handle}", "caller_name": "${display_name}",
            "caller_id_type": "${caller_id_type}", "has_video": "${has_video}", "push_id": "${push_id}",
            "expires_at": "${expires_at}", "expires_in": "${expires_in}", "wake_token": "${wake_token}",
            "custom": "${custom}"
          },
          "data": {
            "uuid": "${call_id}", "caller_id": "${handle}", "caller_name": "${display_name}",
            "caller_id_type": "${caller_id_type}", "has_video": "${has_video}",
            "content": {
              "payload": {
                "uuid": "${call_id}", "caller_id": "${handle}", "caller_name": "${display_name}",
                "caller_id_type": "${caller_id_type}", "has_video": "${has_video:string}"
              }
            },
            "push_id": "${push_id}", "expires_at": "${expires_at}", "expires_in": "${expires_in}",
            "wake_token": "${wake_token}", "custom": "${custom}"
          }
        }
        """

    /// connectycube_flutter_call_kit 2.8. It takes numbers of 32 bits for users.
    private static let connectycube = """
        {
          "voip": {
            "aps": {}, "signal_type": "startCall", "session_id": "${call_id}", "call_type": "${has_video:number}",
            "caller_id": "${caller_number}", "caller_name": "${display_name}", "call_opponents": "${user_number:string}",
            "user_info": "${custom:string}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}"
          },
          "data": {
            "signal_type": "startCall", "session_id": "${call_id}", "call_type": "${has_video:number}",
            "caller_id": "${caller_number}", "caller_name": "${display_name}", "call_opponents": "${user_number:string}",
            "user_info": "${custom:string}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}"
          }
        }
        """

    /// The Linphone SDK 5.4, with the members that flexisip sends. The SDK reads the call's id alone.
    private static let linphone = """
        {
          "voip": {
            "aps": {
              "sound": "", "loc-key": "IC_MSG", "loc-args": ["${display_name}"], "call-id": "${call_id}",
              "uuid": "${call_id}"
            },
            "from-uri": "sip:${handle}", "display-name": "${display_name}", "pn_ttl": "${expires_in}",
            "customPayload": "${custom}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}"
          },
          "data": {
            "uuid": "${call_id}", "call-id": "${call_id}", "from-uri": "sip:${handle}", "sip-from": "sip:${handle}",
            "display-name": "${display_name}", "loc-key": "IC_MSG", "loc-args": "${display_name}",
            "custom-payload": "${custom}", "push_id": "${push_id}", "expires_at": "${expires_at}",
            "expires_in": "${expires_in}", "wake_token": "${wake_token}"
          }
        }
        """
}
