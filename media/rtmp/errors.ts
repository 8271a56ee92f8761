/** The peer broke the RTMP or AMF0 specification, or one of our limits. The only cure is to close its connection. */
export class RtmpProtocolError extends Error {
  override readonly name = 'RtmpProtocolError'
}
