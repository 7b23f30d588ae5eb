/** A customer whose people are polled. */
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { CustomerOptions } from '../../src/counting/customer.ts';
import { counterOwner, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';

const UNDESCRIBED = {
  labels: {},
  capacity: undefined,
  openingHours: undefined,
  staffedHours: undefined,
};
/** Series of a customer whose occupancy is estimated. */
export const ESTIMATED = { ...UNDESCRIBED, estimate: true };

export function customerNamed(
  name: string,
  marks = new HighWaterMarks(),
  {
    zone = new Zone('Europe/Copenhagen'),
    ...options
  }: Partial<CustomerOptions> & { readonly zone?: Zone } = {},
): Customer {
  return new Customer({
    name,
    timezone: zone.name,
    description: { ...UNDESCRIBED, estimate: false },
    calendar: new Calendar(zone, { hour: 4, minute: 0 }),
    keyTimes: 'local',
    streams: ['people'],
    owner: counterOwner('s', name, name),
    marks,
    ...options,
  });
}
