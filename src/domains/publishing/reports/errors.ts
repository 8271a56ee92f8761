import { defineError } from '../../../core/error.ts'

export const ReportNotReady = defineError({
  code: 'report_not_ready',
  status: 409,
  message: 'The report has no file yet.',
  cause: 'The report is still being made, or it could not be made.',
  fix: 'Wait for `report.updated`, or get the report until its `status` is `done`. If it is `failed`, `error` says why; request a new one.',
})

export const TooManyReports = defineError({
  code: 'too_many_reports',
  status: 409,
  message: 'Too many reports are being made.',
  cause: 'A workspace can have ten reports that are not done at the same time.',
  fix: 'Wait until one is done, or delete one that is no longer needed.',
})
