def weekday(year, month, day):
    raise NotImplementedError
