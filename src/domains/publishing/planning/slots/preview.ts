import type { Static } from '../../../../core/schema.ts'
import type { SlotFinder } from './finder.ts'
import type { PreviewView } from './schemas.ts'

/** How many slots a preview shows. */
export const PREVIEWED = 20

/** Free slots as the API shows them. */
export function previewView({
  shortage,
  slots,
}: Awaited<ReturnType<SlotFinder['preview']>>): Static<typeof PreviewView> {
  return {
    slots: slots.map(({ adjustment, localTime, scheduledAt, timeZone }) => {
      return { scheduledFor: scheduledAt, localTime, timezone: timeZone, timeAdjustment: adjustment }
    }),
    shortage,
  }
}
