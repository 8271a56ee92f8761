import { PreconditionFailed } from './errors.ts'

/**
 * Holds a change to the version that its caller has read.
 * @param ifMatch the tag of If-Match; undefined asks for nothing
 * @throws AppError precondition_failed
 */
export function requireVersion(ifMatch: string | undefined, version: number): void {
  if (ifMatch !== undefined && ifMatch !== String(version)) {
    throw PreconditionFailed({ message: `The resource is at version ${version} by now, not ${ifMatch}.` })
  }
}
