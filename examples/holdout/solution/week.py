"""The day of the week, by Sakamoto's table of months."""

NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
SHIFTS = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4]


def weekday(year, month, day):
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= LENGTHS[month - 1] + (leap and month == 2):
        raise ValueError(f"there is no {year}-{month}-{day}")
    if month < 3:
        year -= 1
    return NAMES[(year + year // 4 - year // 100 + year // 400 + SHIFTS[month - 1] + day) % 7]
