import type { FaultCode } from '../../../../media/fault-codes.ts'
import { States } from '../../../core/schema.ts'

/** The meaning of every fault code of the relay. The type check fails if one is missing. */
const MEANINGS = {
  dns_failed: 'The name of the server could not be resolved',
  address_refused: 'The address is not allowed, for example because it is private',
  connection_refused: 'The server refused the connection. Check the address and the port',
  connect_timeout: 'The server did not answer in time',
  tls_failed: 'TLS failed: the certificate is not valid, or the server does not speak TLS on this port',
  handshake_failed: 'The RTMP handshake failed. This may not be an RTMP server',
  rejected: 'The server refused the stream, usually because the key is wrong',
  key_in_use: 'The server reports that the key is in use, often by an earlier session',
  closed_on_publish:
    'The server closed the connection when the stream was announced. Many servers refuse a key this way',
  publish_timeout: 'The server did not accept or refuse the stream in time',
  stalled: 'The server accepted no data for too long',
  closed_by_peer: 'The server closed the connection',
  network: 'The network failed',
  protocol: 'The server sent invalid RTMP, or an internal error ended the connection',
  codec_refused: 'The destination does not accept the codec of the stream',
} satisfies Readonly<Record<FaultCode, string>>

export const DestinationFaultCode = States('DestinationFaultCode', 'Why a connection to a destination failed', MEANINGS)
