import { networkOf } from '../../../tools/network-address.ts'
import type { Sql } from '../../../core/sql.ts'
import type { KnownDevices } from './known-devices.ts'
import type { Origin, Sessions } from './sessions.ts'
import type { AttemptSource } from './throttle.ts'

/**
 * Where an attempt at an account comes from. Devices and networks of earlier sign-ins are counted separately.
 * @param userId undefined for an address without an account, which takes the same time
 */
export async function attemptSource(
  {
    database,
    devices,
    sessions,
  }: { readonly database: Sql; readonly devices: KnownDevices; readonly sessions: Sessions },
  userId: string | undefined,
  { remoteAddress }: Pick<Origin, 'remoteAddress'>,
  deviceToken: string | undefined,
): Promise<AttemptSource> {
  const networks = await sessions.networksOf(database, userId)
  if (userId !== undefined && devices.isOf(userId, deviceToken)) return 'known device'
  const network = networkOf(remoteAddress)
  return networks.has(network) ? `network ${network}` : 'anybody'
}
