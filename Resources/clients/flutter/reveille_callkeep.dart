/// Connects flutter-webrtc's callkeep 0.4 with Reveille. The device's push token has the payload profile
/// `callkeep_flutter`.
///
///     final calls = ReveilleCallkeep('https://calls.example.com', onToken: register, onAnswered: openSession);
///
///     void main() {
///       WidgetsFlutterBinding.ensureInitialized();
///       calls.start();  // First of all: Flutter keeps one event of a channel until a listener is there.
///       FirebaseMessaging.onMessage.listen((message) => calls.incoming(message.data));  // Android
///       …
///     }
///
/// How it was checked: parsed with tree-sitter's Dart grammar and read line by line against the plugin's sources at
/// 0.4.1. No Dart SDK has compiled it, and it has not been run on a phone.
library;

import 'package:callkeep/callkeep.dart';

import 'reveille_http.dart';

class ReveilleCallkeep {
  ReveilleCallkeep(this.server, {this.onToken, this.onAnswered, this.onEnded});

  final String server;

  /// The VoIP token, to register with session.open or device.update.
  final void Function(String token)? onToken;

  /// The call is answered on this device: open a session with `push.wakeToken`; its result has the caller's SDP.
  final void Function(ReveillePush push)? onAnswered;

  /// The call is over on this device.
  final void Function(String callId)? onEnded;

  final _callKeep = FlutterCallkeep();
  final _pushes = <String, ReveillePush>{};

  ReveilleHttp get _http => ReveilleHttp(server);

  void start() {
    _callKeep.on<CallKeepPushKitToken>((event) {
      final token = event.token;
      if (token != null) onToken?.call(token);
    });
    // iOS: the native side has shown the call of a push, and passes its payload on.
    _callKeep.on<CallKeepDidDisplayIncomingCall>(
      (event) => _displayed(event.callData.callUUID, event.callData.additionalData),
    );
    _callKeep.on<CallKeepPerformAnswerCallAction>((event) => _answered(event.callData.callUUID));
    _callKeep.on<CallKeepPerformEndCallAction>((event) => _ended(event.callUUID));
    // Android, for a tap on Decline.
    _callKeep.on<CallKeepPerformRejectCallAction>((event) => _ended(event.callUUID));
  }

  /// Android: a data message. Completes when the server knows.
  Future<void> incoming(Map<String, dynamic> data) async {
    final id = data['uuid'] as String?;
    final push = ReveillePush.of(id, data);
    if (id == null || push == null) return;
    if (ReveillePush.isOver(data)) {
      await _http.report(push, 'not_required');
      return;
    }
    await _callKeep.displayIncomingCall(
      uuid: id,
      handle: data['caller_id'] as String? ?? '',
      callerName: data['caller_name'] as String? ?? '',
      hasVideo: data['has_video'] == 'true',
    );
    await _displayed(id, data);
  }

  /// The app's session got `call.ended`. callkeep's numbers: 2 is the remote end, 3 unanswered, 4 and 5 elsewhere.
  Future<void> ended(String callId, String reason) async {
    final push = _pushes.remove(callId.toLowerCase());
    if (push == null) return;
    const numbers = {'ring_timeout': 3, 'answered_elsewhere': 4, 'declined_elsewhere': 5};
    await _callKeep.reportEndCallWithUUID(uuid: push.callId, reason: numbers[reason] ?? 2, notify: false);
    onEnded?.call(push.callId);
  }

  Future<void> _displayed(String? callId, Map<dynamic, dynamic>? payload) async {
    final push = ReveillePush.of(callId?.toLowerCase(), payload);
    if (push == null) return;
    _pushes[push.callId] = push;
    final answer = await _http.report(push, 'reported');
    if (answer.isOver) await ended(push.callId, answer.body['reason'] as String? ?? '');
  }

  Future<void> _answered(String? callId) async {
    final push = _pushes[callId?.toLowerCase()];
    if (push == null) return;
    final answer = await _http.answer(push);
    if (answer.status == 200) {
      onAnswered?.call(push);
    } else {
      await ended(push.callId, 'answered_elsewhere');
    }
  }

  /// The user declines, or hangs up: before the answer `hangup` is a decline.
  Future<void> _ended(String? callId) async {
    final push = _pushes.remove(callId?.toLowerCase());
    if (push == null) return;
    onEnded?.call(push.callId);
    await _http.hangup(push);
  }
}
