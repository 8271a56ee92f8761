import type { FaultCode } from '../../../../media/fault-codes.ts'
import type { DestinationTest } from '../../../../media/relay/test-destination.ts'

/** What to do about each fault of a test. */
const MENDING = {
  dns_failed: 'Check the name of the server in the URL for typing errors, or copy the URL from the platform again.',
  address_refused: 'Use the public address of the server. Private addresses need the setting ALLOW_PRIVATE_ADDRESSES.',
  connection_refused:
    'Check the port in the URL, and that the server is running. RTMP is usually at 1935, RTMPS at 443.',
  connect_timeout: 'Check the address and the port. A firewall may also drop connections to this server.',
  tls_failed:
    'Check that the server takes RTMPS at this port and has a valid certificate, or use rtmp:// if it offers that.',
  handshake_failed:
    'Check the port: another program than an RTMP server may listen there. RTMPS servers need rtmps://.',
  rejected:
    'Copy the stream key and the application in the URL from the platform again: one of them is probably wrong.',
  key_in_use: 'End the other broadcast or encoder that uses this key, wait a minute, and test again.',
  closed_on_publish:
    'Copy the stream key and the application in the URL again. Many servers close like this when one is wrong.',
  publish_timeout:
    'Check the application in the URL and the stream key, and whether the platform expects a broadcast to be set up first.',
  stalled: 'Test again in a minute. If it stays so, ask the operator of the server whether media arrives.',
  closed_by_peer:
    'Test again. If it stays so, check whether the platform needs a broadcast to be set up first, or ends short ones.',
  network: 'Test again. If it stays so, check the route between this server and the destination.',
  protocol: 'Check that the URL leads to an RTMP server.',
  codec_refused: 'Choose H.264 and AAC in the encoder.',
} satisfies Readonly<Record<FaultCode, string>>

const kilobytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1_000))} kB`

/** What a test found, and what to do about it, as sentences. */
export function wordsOf({ bytesAcknowledged, bytesSent, failed, fault, passed }: DestinationTest): {
  explanation: string
  mending: string | null
} {
  if (failed === null || fault === null) {
    const explanation = `The server accepted the stream key, and ${kilobytes(bytesAcknowledged)} of ${kilobytes(bytesSent)} arrived there.`
    return { explanation, mending: null }
  }
  const reached = passed.length === 0 ? '' : ` These steps passed before: ${passed.join(', ')}.`
  return { explanation: `${fault.message}${reached}`, mending: MENDING[fault.code] }
}
