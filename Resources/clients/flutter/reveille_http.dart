/// The HTTP resources of Reveille for a phone that a push has woken. `reveille_callkit.dart` and
/// `reveille_callkeep.dart` use it; it needs no package.
///
/// How it was checked: parsed with tree-sitter's Dart grammar and read line by line against the sources of the plugins.
/// No Dart SDK has compiled it, and it has not been run on a phone.
library;

import 'dart:async';
import 'dart:convert';
import 'dart:io';

/// The push of one call: what the HTTP resources need of it.
class ReveillePush {
  const ReveillePush({required this.callId, required this.pushId, required this.wakeToken});

  final String callId;
  final String pushId;
  final String wakeToken;

  /// From the members of a payload; null without them.
  static ReveillePush? of(String? callId, Map<dynamic, dynamic>? members) {
    final pushId = members?['push_id'];
    final wakeToken = members?['wake_token'];
    if (callId == null || pushId is! String || wakeToken is! String) return null;
    return ReveillePush(callId: callId, pushId: pushId, wakeToken: wakeToken);
  }

  /// Whether no ringing time was left when the server sent this data message. Not by `expires_at`: the phone's clock may
  /// be wrong. The answer to the report tells that a message came too late. A message that does not say counts as 30 s.
  static bool isOver(Map<dynamic, dynamic> data) => (int.tryParse('${data['expires_in']}') ?? 30) <= 0;
}

/// The status is 0 if no try reached the server.
class ReveilleAnswer {
  const ReveilleAnswer(this.status, this.body);

  final int status;
  final Map<String, dynamic> body;

  /// The call is over for this device, or it is refused: stop ringing.
  bool get isOver => body['state'] == 'ended' || (status >= 400 && status < 500 && status != 429);
}

class ReveilleHttp {
  const ReveilleHttp(this.server);

  /// Such as `https://calls.example.com`.
  final String server;

  /// `result` is `reported`, `not_required`, `filtered` or `failed`. After `reported` the caller hears ringback.
  Future<ReveilleAnswer> report(ReveillePush push, String result, {String? error}) => _post(
        push,
        '/v1/pushes/${push.pushId}/report',
        {'call_id': push.callId, 'result': result, if (error != null) 'error': error},
      );

  Future<ReveilleAnswer> answer(ReveillePush push) => _post(push, '/v1/calls/${push.callId}/answer', {});

  Future<ReveilleAnswer> decline(ReveillePush push) =>
      _post(push, '/v1/calls/${push.callId}/decline', {'reason': 'declined'});

  /// Before the answer this is a decline.
  Future<ReveilleAnswer> hangup(ReveillePush push) => _post(push, '/v1/calls/${push.callId}/hangup', {});

  /// Every request may be repeated.
  Future<ReveilleAnswer> _post(ReveillePush push, String path, Map<String, dynamic> body) async {
    var answer = const ReveilleAnswer(0, {});
    for (var tries = 1; tries <= 3; tries += 1) {
      if (tries > 1) await Future<void>.delayed(Duration(milliseconds: 500 * tries));
      try {
        answer = await _send(push, path, body).timeout(const Duration(seconds: 5));
        if (answer.status != 503 && answer.status != 429) return answer;
      } on IOException {
        continue;
      } on TimeoutException {
        continue;
      }
    }
    return answer;
  }

  Future<ReveilleAnswer> _send(ReveillePush push, String path, Map<String, dynamic> body) async {
    final client = HttpClient();
    try {
      final bytes = utf8.encode(jsonEncode(body));
      final request = await client.postUrl(Uri.parse(server + path));
      request.headers.set(HttpHeaders.authorizationHeader, 'Bearer ${push.wakeToken}');
      request.headers.contentType = ContentType.json;
      request.contentLength = bytes.length;
      request.add(bytes);
      final response = await request.close();
      final text = await response.transform(utf8.decoder).join();
      return ReveilleAnswer(response.statusCode, _object(text));
    } finally {
      client.close(force: true);
    }
  }

  Map<String, dynamic> _object(String text) {
    try {
      final value = jsonDecode(text);
      if (value is Map<String, dynamic>) return value;
    } on FormatException {
      // Not the server's answer, but a proxy's.
    }
    return const {};
  }
}
