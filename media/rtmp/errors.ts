/** The peer violated the RTMP or AMF0 specification, or one of our limits. Its connection must be closed. */
export class RtmpProtocolError extends Error {
  override readonly name = 'RtmpProtocolError'
}
